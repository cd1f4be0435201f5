export function trialFolder(): string
export function sweepTrial(folder: string): void
export function whenOrphaned(callback: () => void): void
