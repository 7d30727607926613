"""What is measured: the built book under Lighthouse and axe (`make audit`), how fast a check is (`make speed`)."""
