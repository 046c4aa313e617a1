// Empty until the command lands.
