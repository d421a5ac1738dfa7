//! Takes texts apart with `tokenizers`.

use std::error::Error;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::{
    DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, TokenizerBuilder,
    pre_tokenizers::whitespace::Whitespace,
};

/// Learns tokens from the files of a folder, takes the files apart into them, and prints a digest of the tokens.
pub(crate) fn run(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut texts = Vec::new();
    read(folder, &mut texts)?;
    let mut tokenizer = TokenizerBuilder::<
        BPE,
        NormalizerWrapper,
        PreTokenizerWrapper,
        PostProcessorWrapper,
        DecoderWrapper,
    >::new()
    .with_model(BPE::default())
    .with_normalizer(None)
    .with_pre_tokenizer(Some(PreTokenizerWrapper::Whitespace(Whitespace {})))
    .with_post_processor(None)
    .with_decoder(None)
    .build()
    .map_err(|error| error.to_string())?;
    let mut trainer = BpeTrainer::builder().show_progress(false).vocab_size(600).build();
    tokenizer.train(&mut trainer, texts.iter()).map_err(|error| error.to_string())?;
    let mut digest = DefaultHasher::new();
    let mut count = 0;
    for text in tokenizer.encode_batch(texts, false).map_err(|error| error.to_string())? {
        count += text.len();
        text.get_ids().hash(&mut digest);
    }
    println!("{count} tokens, {:016x}", digest.finish());
    Ok(())
}

/// Appends the texts of all files below `folder`, in the order of their names.
fn read(folder: &Path, texts: &mut Vec<String>) -> Result<(), Box<dyn Error>> {
    let mut paths: Vec<_> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            read(&path, texts)?;
        } else {
            texts.push(fs::read_to_string(path)?);
        }
    }
    Ok(())
}
