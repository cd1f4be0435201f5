export function trialFolder(parent?: string): string
export function testDisk(env: Readonly<Record<string, string | undefined>>, memoryDisk?: string): string
export function sweepTrial(folder: string): void
export function whenOrphaned(callback: () => void): void
