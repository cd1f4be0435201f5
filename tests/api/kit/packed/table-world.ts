import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { createLogger } from '../../../../api/kit/logging.ts'
import { type Packing, packedTable } from '../../../../api/kit/packed/packed-table.ts'
import { diskFiles, type SpoolFiles } from '../../../../api/kit/spool/files.ts'
import { type MemoryBroker, memoryBroker } from '../../../../kafka/memory/broker.ts'
import { CodecError } from '../../../../schemas/codec.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { rawValue } from '../../../../schemas/raw.ts'
import type { Topic } from '../../../../schemas/topic.ts'
import { breakableTransport } from '../snapshots/breakable-transport.ts'

const PARTITIONS = 3
export const topic: Topic<string, string> = { name: 'entries', key: utf8, value: rawValue(utf8), partitions: PARTITIONS }
export const SOON = { interval: 10 }

/** Packs values of the form `<number>` or `<number>@<expiry in epoch ms>`. */
export const packing: Packing<string, number> = {
  version: 1,
  bytes: 4,
  pack(value, view, at) {
    const number = Number(value.split('@')[0])
    if (!Number.isInteger(number)) throw new CodecError(`${value} is not a number`)
    view.setUint32(at, number, true)
  },
  unpack: (view, at) => view.getUint32(at, true),
  expiresAt(value) {
    const expiry = value.split('@')[1]
    return expiry === undefined ? undefined : Number(expiry)
  },
}

export interface WorldOptions {
  readonly folder?: string
  readonly files?: SpoolFiles
  readonly broker?: MemoryBroker
  /**
   * Interval between snapshots. By default, it is so long that snapshots are written only when the table has read the
   * whole topic for the first time, and when it closes.
   */
  readonly intervalMs?: number
  readonly packing?: Packing<string, number>
}

export function tableFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-tables-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

/** Creates a broker with the topic. */
export function newBroker(): MemoryBroker {
  const broker = memoryBroker()
  broker.createTopic({ name: topic.name, partitions: PARTITIONS })
  return broker
}

export function put(broker: MemoryBroker, key: string, value: string | undefined): void {
  const record = { timestamp: 1, key: Buffer.from(key), value: value === undefined ? null : Buffer.from(value), headers: [] }
  broker.append(topic.name, key.charCodeAt(0) % PARTITIONS, record)
}

/** Opens tables with clocks that the test controls, on a broker that can become unavailable. */
export async function tableWorld({
  folder = tableFolder(),
  files = diskFiles,
  broker = newBroker(),
  packing: used = packing,
  intervalMs = 3_600_000,
}: WorldOptions) {
  const state = { isAway: false, aheadMs: 0, silentPolls: 0, epochs: [] as (number | undefined)[] }
  const lines: Record<string, unknown>[] = []
  const log = createLogger('debug', { write: (line: string) => void lines.push(JSON.parse(line)) })
  /** For each fetcher, the offsets from which it began to read the partitions. */
  const begun: number[][] = []
  const transport = breakableTransport(broker, state, begun)

  async function open(isAway = false) {
    state.isAway = isAway
    const table = await packedTable({
      transport,
      topic,
      values: utf8,
      packing: used,
      loadSchema: async () => 'not-found',
      log,
      now: () => Date.now() + state.aheadMs,
      monotonic: () => performance.now() + state.aheadMs,
      snapshots: { folder, files, intervalMs },
    })
    let isClosed = false
    async function close(): Promise<void> {
      if (!isClosed) await table.close()
      isClosed = true
    }
    onTestFinished(close)
    return { ...table, table, close }
  }

  /** Makes the broker unavailable. Resolves when the table has processed everything that it read before. */
  async function goAway(): Promise<void> {
    state.isAway = true
    const before = state.silentPolls
    await expect.poll(() => state.silentPolls, SOON).toBeGreaterThan(before)
  }

  const events = (event: string) => lines.filter((line) => line.event === event)
  return { broker, folder, state, lines, events, begun, open, goAway, put: (key: string, value?: string) => put(broker, key, value) }
}

/** Returns the reports of all probes that are failing or degraded, keyed by the name of the probe. */
export async function reports({ probes }: { readonly probes: readonly { name: string; check(): Promise<string | undefined> }[] }) {
  const checked = await Promise.all(probes.map(async ({ name, check }) => [name, await check()] as const))
  return Object.fromEntries(checked.filter(([, reason]) => reason !== undefined))
}
