"""From bytes to messages: encodings, what launchers write before a message, and which words it holds."""
