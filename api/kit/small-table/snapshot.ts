import { readCheckedFile, SnapshotError, snapshotPath, writeCheckedFile } from '../snapshots/checked-file.ts'
import type { Saved } from '../snapshots/snapshot-table.ts'
import type { SpoolFiles } from '../spool/files.ts'
import type { Holding } from './holding.ts'

export type Entries<H> = Map<string, H>

interface Header {
  readonly topic: string
  /** `version` of the table's `Holding`. */
  readonly version: number
  readonly positions: readonly (readonly [partition: number, offset: number])[]
  readonly epochs?: readonly (readonly [partition: number, epoch: number])[]
  readonly topicId?: string | undefined
  readonly savedAt: number
}

/** The first bytes of a file. The digit is the version of the format. */
const MAGIC = Buffer.from('MRSMALL1')

/**
 * Replaces the snapshot of a table. Each entry is a block of JSON, because values must remain readable when the schemas
 * of their records are gone.
 */
export async function writeEntries<H>(
  files: SpoolFiles,
  folder: string,
  topic: string,
  { version, save }: Pick<Holding<never, H>, 'version' | 'save'>,
  { contents, positions, epochs, topicId, savedAt }: Saved<Entries<H>>,
): Promise<void> {
  function* blocks(): Generator<Buffer> {
    for (const [key, held] of contents) yield Buffer.from(JSON.stringify([key, save(held)]))
  }
  const header: Header = { topic, version, positions: [...positions], epochs: [...epochs], topicId, savedAt }
  await writeCheckedFile(files, folder, snapshotPath(folder, topic), MAGIC, { header, blocks: blocks() })
}

/**
 * Reads the snapshot of a table.
 * @returns undefined if there is no snapshot
 * @throws SnapshotError if the snapshot is damaged, or has a different version or topic
 */
export async function readEntries<H>(
  files: SpoolFiles,
  folder: string,
  topic: string,
  { version, load }: Pick<Holding<never, H>, 'version' | 'load'>,
): Promise<Saved<Entries<H>> | undefined> {
  return await readCheckedFile(files, snapshotPath(folder, topic), MAGIC, async (reader) => {
    const header = reader.header as Header
    if (header.topic !== topic) throw new SnapshotError(`it belongs to the topic ${header.topic}`)
    if (header.version !== version) throw new SnapshotError(`it has the version ${header.version}, but the table has ${version}`)
    const contents: Entries<H> = new Map()
    for await (const { body } of reader.blocks) {
      const [key, saved] = JSON.parse(body.toString()) as [string, unknown]
      contents.set(key, load(saved))
    }
    const { positions, epochs, topicId, savedAt } = header
    return { contents, positions: new Map(positions), epochs: new Map(epochs), topicId, savedAt }
  })
}
