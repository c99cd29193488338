"""What happens next? Phases, capacity, commands, history of one lane's canary."""
