import { writeString } from '../../../schemas/avro/write.ts'
import { type ByteWriter, byteWriter, CodecError } from '../../../schemas/codec.ts'
import { ENTITY_KINDS, type EntityKind, entityKey } from '../../../schemas/fraud/entity.ts'
import { type CountedRequest, factsOf } from '../../../schemas/fraud/events.ts'
import { kindsAt, ROW_BYTES, writeKinds, writeRow } from '../../../schemas/fraud/profile/rows.ts'
import type { EntityVerdict } from '../../../schemas/fraud/profile/verdicts.ts'
import type { FraudEntityVerdict } from '../../../schemas/fraud/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import type { Context } from '../../engine/index.ts'
import type { ChangedEntities } from './changed-entities.ts'

/**
 * Collects the changes of entities since the last commit. All entities of a partition share records, and the entities
 * of a transaction share a row. A record for each entity would cost more than the update of its profile.
 */
export interface EntityChanges {
  /**
   * @param isRepeated whether the transaction was counted before. Such a transaction is added too, because the view may
   * still list it as in flight
   */
  addTransaction(request: CountedRequest, isRepeated: boolean, ctx: Context): void
  addVerdict(kind: EntityKind, id: string, verdict: EntityVerdict, ctx: Context): void
  /** Emits all records that are being filled. Must run before each commit. */
  emitAll(ctx: Context): void
}

/** The record that is being filled for one partition. */
interface OpenRecord {
  readonly partition: number
  readonly rows: ByteWriter
  readonly entities: ByteWriter
  judged: FraudEntityVerdict[]
}

/**
 * Maximum number of transactions and verdicts in a record. Processing such a record takes some milliseconds. A larger
 * record could delay the commit, because the engine reads the clock only between records.
 */
const MOST_PARTS = 1_000
/**
 * Size at which a record is sent. `MOST_PARTS` does not bound the size: the API limits the length of ids, but other
 * producers may send longer ids.
 */
const FULL_BYTES = 512 * 1_024
const UNUSED = { keys: [], users: [] }

export function entityChanges(topic: Topic<string, ChangedEntities>): EntityChanges {
  const records: OpenRecord[] = []
  /** The row of the transaction that is being added. */
  const row = Buffer.alloc(ROW_BYTES)
  /** The records to which this row has already been added. */
  const having: OpenRecord[] = []

  function recordFor(entity: string, ctx: Context): OpenRecord {
    const partition = ctx.partitionBy(topic, entity)
    records[partition] ??= { partition, rows: byteWriter(), entities: byteWriter(), judged: [] }
    return records[partition]
  }

  function addRow(record: OpenRecord, user: string, ctx: Context): void {
    if (isFull(record)) emit(record, ctx)
    const { rows, entities } = record
    rows.reserve(ROW_BYTES)
    rows.length += row.copy(rows.buffer, rows.length)
    appendText(entities, user)
    having.push(record)
  }

  function emit(record: OpenRecord, ctx: Context): void {
    const { partition, rows, entities, judged } = record
    const changes = {
      rows: rows.buffer.subarray(0, rows.length),
      entities: entities.buffer.subarray(0, entities.length),
      judged,
      ...UNUSED,
    }
    ctx.emit(topic, String(partition), changes, { timestamp: ctx.now, partition })
    rows.length = 0
    entities.length = 0
    record.judged = []
  }

  return {
    addTransaction(request, isRepeated, ctx) {
      const facts = factsOf(request)
      const user = entityKey('user', request.payer.user_id)
      writeRow(row, 0, facts, isRepeated)
      having.length = 0
      for (let kind = 0; kind < ENTITY_KINDS.length; kind++) {
        const id = facts.ids[ENTITY_KINDS[kind]]
        if (id === null) continue
        const isUser = ENTITY_KINDS[kind] === 'user'
        const entity = isUser ? user : entityKey(ENTITY_KINDS[kind], id)
        const record = recordFor(entity, ctx)
        if (!having.includes(record)) addRow(record, user, ctx)
        const { rows, entities } = record
        const at = rows.length - ROW_BYTES
        writeKinds(rows.buffer, at, kindsAt(rows.buffer, at) | (1 << kind))
        if (!isUser) appendText(entities, entity)
      }
    },
    addVerdict(kind, id, verdict, ctx) {
      const entity = entityKey(kind, id)
      const record = recordFor(entity, ctx)
      if (isFull(record)) emit(record, ctx)
      record.judged.push({ entity, ...verdict })
    },
    emitAll(ctx) {
      for (const record of records) if (record !== undefined && record.rows.length + record.judged.length > 0) emit(record, ctx)
    },
  }
}

function isFull({ rows, entities, judged }: OpenRecord): boolean {
  return rows.length / ROW_BYTES + judged.length >= MOST_PARTS || rows.length + entities.length >= FULL_BYTES
}

function appendText(out: ByteWriter, text: string): void {
  const end = writeString(out, out.length, text)
  if (end < 0) throw new CodecError(`${JSON.stringify(text)} has a lone surrogate, which UTF-8 cannot represent`)
  out.length = end
}
