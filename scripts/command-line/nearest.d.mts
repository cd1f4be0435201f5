export function nearestName(given: string, known: readonly string[]): string | undefined
