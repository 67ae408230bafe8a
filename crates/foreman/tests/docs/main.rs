//! What the documents say is so: links lead somewhere, commands exist, promises name their tests, errors have their
//! pages, and what people read is plain English.

mod commands;
mod errors;
mod guarantees;
mod links;
mod tree;
mod walks;
mod words;
