/** Returns a function that works like `once` of an open command, but keeps the values in memory. */
export function remembered() {
  const known = new Map<string, unknown>()
  return async function once<T>(idempotencyKey: string | undefined, name: string, compute: () => T): Promise<T> {
    if (idempotencyKey === undefined) return compute()
    const key = `${idempotencyKey}:${name}`
    if (!known.has(key)) known.set(key, compute())
    return known.get(key) as T
  }
}
