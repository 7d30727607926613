"""The built book under Lighthouse and axe: `make audit`."""
