/** The kinds of blocks in the snapshot of the items. */
export const BLOCK = { items: 0, stats: 1, traits: 2, ids: 3, end: 4, newer: 5 } as const

const KIND_BYTES = 1

/** Puts the kind of a block in front of its content. */
export function blockOf(kind: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(kind), content])
}

export function kindOf(block: Buffer): number {
  return block[0]
}

export function contentOf(block: Buffer): Buffer {
  return block.subarray(KIND_BYTES)
}
