/** The kinds of entities that have profiles. */
export const ENTITY_KINDS = ['user', 'device', 'ip', 'card', 'merchant'] as const
export type EntityKind = (typeof ENTITY_KINDS)[number]

/** Returns the key of an entity's profile. A kind contains no colon; an id may contain several. */
export function entityKey(kind: EntityKind, id: string): string {
  return `${kind}:${id}`
}

const KINDS: ReadonlyMap<string, EntityKind> = new Map(ENTITY_KINDS.map((kind) => [kind, kind]))

export function parseEntityKey(key: string): { readonly kind: EntityKind; readonly id: string } {
  const colon = key.indexOf(':')
  const kind = KINDS.get(key.slice(0, colon))
  if (kind === undefined) throw new Error(`${JSON.stringify(key)} is not the key of a profile`)
  return { kind, id: key.slice(colon + 1) }
}
