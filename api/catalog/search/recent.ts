import { isWithin } from '../../kit/age.ts'

/** Remembers values for a short time. */
export interface Recent<V> {
  get(key: string): V | undefined
  set(key: string, value: V): void
}

export interface RecentOptions {
  readonly keptMs: number
  /** Maximum number of entries. When there are more, the oldest entry is forgotten. */
  readonly most: number
  /** Epoch ms. */
  now(): number
}

export function recent<V>({ keptMs, most, now }: RecentOptions): Recent<V> {
  const entries = new Map<string, { readonly value: V; readonly setAt: number }>()
  return {
    get(key) {
      const entry = entries.get(key)
      return entry !== undefined && isWithin(entry.setAt, keptMs, now()) ? entry.value : undefined
    },
    set(key, value) {
      entries.delete(key)
      entries.set(key, { value, setAt: now() })
      if (entries.size > most) entries.delete(entries.keys().next().value!)
    },
  }
}
