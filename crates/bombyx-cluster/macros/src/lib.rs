//! `#[remote]`: leaves the function as it is and registers it by its name.
//!
//! **Not here:** anything that happens when the program runs.
//!
//! All the work is in `bombyx_cluster::register!`. The attribute only finds the function's name, so it parses nothing else.

use proc_macro::{TokenStream, TokenTree};

/// Makes a function remote: a cluster can call it on another machine.
///
/// The function takes one argument and is not generic. Its argument and its result implement serde's traits.
#[proc_macro_attribute]
pub fn remote(attribute: TokenStream, function: TokenStream) -> TokenStream {
    if !attribute.is_empty() {
        return error("`remote` takes no arguments");
    }
    let Some((name, generic)) = name(function.clone()) else {
        return error("`remote` stands before a function");
    };
    if generic {
        return error("a remote function cannot be generic: a worker finds it by its name alone");
    }
    let registration: TokenStream =
        format!("::bombyx_cluster::register!({name});").parse().expect("a name makes a macro call");
    function.into_iter().chain(registration).collect()
}

/// The word after `fn`, and whether a `<` follows it.
fn name(function: TokenStream) -> Option<(String, bool)> {
    let mut tokens = function.into_iter();
    tokens.find(|token| matches!(token, TokenTree::Ident(word) if word.to_string() == "fn"))?;
    let TokenTree::Ident(name) = tokens.next()? else { return None };
    let generic = matches!(tokens.next(), Some(TokenTree::Punct(mark)) if mark.as_char() == '<');
    Some((name.to_string(), generic))
}

fn error(message: &str) -> TokenStream {
    format!("::core::compile_error!({message:?});").parse().expect("a string makes a macro call")
}
