import { readCheckedFile, SnapshotError, snapshotPath, writeCheckedFile } from '../snapshots/checked-file.ts'
import type { SpoolFiles } from '../spool/files.ts'
import { type PackedLayout, PackedMap, packedBytes } from './packed-map.ts'
import { SIP_KEY_BYTES } from './sip-hash.ts'

/** Properties of a table. A snapshot is used only if it has the same properties. */
export interface SnapshotForm extends PackedLayout {
  readonly topic: string
  /** `version` of the table's `Packing`. */
  readonly version: number
}

/** The contents of a table at a point in time. */
export interface Snapshot {
  readonly map: PackedMap
  /** The secret key that the keys of the map are hashed with. */
  readonly key: Buffer
  /** The offset of the next record to read in each partition. The entries may already include later changes. */
  readonly positions: ReadonlyMap<number, number>
  /** The leader epochs of the positions; see `TopicFollower.epochs`. Empty in files from earlier versions. */
  readonly epochs: ReadonlyMap<number, number>
  /** The id of the topic that the positions belong to; undefined in files from earlier versions. */
  readonly topicId: string | undefined
  /** Epoch ms. At this time, the table had read the topic up to `positions`. */
  readonly savedAt: number
}

interface Header extends SnapshotForm {
  readonly key: string
  readonly positions: readonly (readonly [partition: number, offset: number])[]
  readonly epochs?: readonly (readonly [partition: number, epoch: number])[]
  readonly topicId?: string | undefined
  readonly savedAt: number
}

/**
 * The first bytes of a file. The digit is the version of the format. Files of version 1 may lack entries, because they
 * ended at the first segment whose entries had all expired.
 */
const MAGIC = Buffer.from('MRTABLE2')
const MS_PER_SECOND = 1_000

/**
 * Replaces the snapshot of a table. The table may change while the snapshot is being written, because a reader that
 * starts from `positions` applies the same changes again.
 */
export async function writeSnapshot(files: SpoolFiles, folder: string, form: SnapshotForm, snapshot: Snapshot): Promise<void> {
  const { map, key, positions, epochs, topicId, savedAt } = snapshot
  const { topic, version, valueBytes, canExpire } = form
  const place = { positions: [...positions], epochs: [...epochs], topicId, savedAt }
  const header: Header = { topic, version, valueBytes, canExpire, key: key.toString('hex'), ...place }
  await writeCheckedFile(files, folder, snapshotPath(folder, topic), MAGIC, { header, blocks: blocksOf(map) })
}

function* blocksOf(map: PackedMap): Generator<Buffer> {
  for (let index = 0; index < map.segments; index++) {
    const entries = map.packed(index)
    if (entries !== undefined) yield entries
  }
}

/**
 * Reads the snapshot of a table.
 * @returns undefined if there is no snapshot
 * @throws SnapshotError if the snapshot is damaged or does not match the form
 */
export async function readSnapshot(
  files: SpoolFiles,
  folder: string,
  form: SnapshotForm,
  now: () => number,
): Promise<Snapshot | undefined> {
  return await readCheckedFile(files, snapshotPath(folder, form.topic), MAGIC, async (reader) => {
    const header = reader.header as Header
    assertForm(header, form)
    const map = new PackedMap(form)
    for await (const { body, at } of reader.blocks) {
      if (body.length % packedBytes(form) !== 0) throw new SnapshotError(`the block at byte ${at} does not consist of whole entries`)
      map.addPacked(body, now() / MS_PER_SECOND)
    }
    return {
      map,
      key: Buffer.from(header.key, 'hex'),
      positions: new Map(header.positions),
      epochs: new Map(header.epochs),
      topicId: header.topicId,
      savedAt: header.savedAt,
    }
  })
}

function assertForm(header: Header, form: SnapshotForm): void {
  for (const name of ['topic', 'version', 'valueBytes', 'canExpire'] as const) {
    if (header[name] !== form[name]) throw new SnapshotError(`it has the ${name} ${header[name]}, but the table has ${form[name]}`)
  }
  if (header.key.length !== SIP_KEY_BYTES * 2) throw new SnapshotError('its key has the wrong length')
}
