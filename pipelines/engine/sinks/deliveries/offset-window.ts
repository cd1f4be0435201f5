import { withoutTopicId } from '../committed-topic.ts'

/**
 * The offsets of one partition whose records are being delivered. Deliveries end in any order, so the committed offset
 * alone would not show which later records are done. The window therefore writes the done offsets into the metadata of
 * the commit. After a restart, only the records that were not done at the last commit are delivered again.
 */
export interface OffsetWindow {
  /** The first offset whose record is not done. */
  readonly next: number
  /** The offset after all added and skipped offsets. */
  readonly end: number
  /** Adds the offset of a record. @returns false if the record was done before the window was created */
  add(offset: number): boolean
  finish(offset: number): void
  /** Moves the end past offsets that have no records. */
  skipTo(end: number): void
  /**
   * Forgets all offsets from this one on, because the log has lost their records. New records get the same offsets.
   * Does nothing if the window ends before this offset.
   */
  loseFrom(offset: number): void
  /**
   * Returns the done offsets after `next` as text, in the form that `doneOffsets` reads. The text is empty if there are
   * none.
   */
  metadata(): string
}

const PREFIX = 'done:'
const BITS_PER_BYTE = 8
/**
 * Maximum size of the bitmap. In base64 it stays below Kafka's default limit for metadata, 4,096 bytes. Offsets beyond
 * the bitmap count as not done.
 */
const MAX_BITMAP_BYTES = 2_048
/** Number of offsets that the metadata of a commit can describe. */
export const MAX_WINDOW_SPAN = MAX_BITMAP_BYTES * BITS_PER_BYTE

/**
 * Creates a window.
 * @param start the first offset that is not done
 * @param doneBefore later offsets whose records are done. They stay in the metadata until `next` has passed them,
 * because the sink may restart before that
 */
export function offsetWindow(start: number, doneBefore: Iterable<number> = []): OffsetWindow {
  /** The offsets whose records are not done. They are added in ascending order and stay in that order. */
  const open = new Set<number>()
  const before = new Set(doneBefore)
  const done = new Set(before)
  let end = start

  function next(): number {
    const [first] = open
    return first ?? end
  }

  return {
    get next() {
      return next()
    },
    get end() {
      return end
    },
    add(offset) {
      end = Math.max(end, offset + 1)
      if (before.has(offset)) return false
      open.add(offset)
      return true
    },
    finish(offset) {
      if (open.delete(offset)) done.add(offset)
    },
    skipTo(offset) {
      end = Math.max(end, offset)
    },
    loseFrom(from) {
      if (from >= end) return
      for (const offsets of [open, before, done]) for (const offset of offsets) if (offset >= from) offsets.delete(offset)
      end = from
    },
    metadata() {
      const from = next()
      for (const offset of done) if (offset < from) done.delete(offset)
      return bitmapText(from, done)
    },
  }
}

function bitmapText(from: number, done: ReadonlySet<number>): string {
  let last = -1
  for (const offset of done) if (offset - from < MAX_WINDOW_SPAN) last = Math.max(last, offset - from)
  if (last < 0) return ''
  const bitmap = Buffer.alloc(Math.floor(last / BITS_PER_BYTE) + 1)
  for (const offset of done) {
    const bit = offset - from
    if (bit <= last) bitmap[Math.floor(bit / BITS_PER_BYTE)] |= 1 << (bit % BITS_PER_BYTE)
  }
  return PREFIX + bitmap.toString('base64')
}

/**
 * Returns the offsets that the metadata of a commit marks as done. Returns none if the metadata is not in the form that
 * `OffsetWindow.metadata` writes. All records from the committed offset on are then delivered again. The id of the
 * topic may precede the metadata (`withTopicId`).
 * @param next the committed offset, which is `OffsetWindow.next` at the time of the commit. The metadata contains the
 * distance of each done offset from this offset
 */
export function doneOffsets(next: number, metadata: string): Set<number> {
  const done = new Set<number>()
  const text = withoutTopicId(metadata)
  if (!text.startsWith(PREFIX)) return done
  const bitmap = Buffer.from(text.slice(PREFIX.length), 'base64')
  for (let bit = 0; bit < bitmap.length * BITS_PER_BYTE; bit++) {
    if ((bitmap[Math.floor(bit / BITS_PER_BYTE)] & (1 << (bit % BITS_PER_BYTE))) !== 0) done.add(next + bit)
  }
  return done
}
