"""From files, folders, tables, frames and objects to documents."""
