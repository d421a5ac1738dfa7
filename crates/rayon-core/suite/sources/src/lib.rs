//! Only here so that cargo fetches what the manifest pins.
