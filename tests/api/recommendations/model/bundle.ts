import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeNumbers } from '../../../../api/recommendations/model/eight-bits.ts'
import { groupFileStart } from '../../../../api/recommendations/model/group-file.ts'
import { BUNDLE_FILES, BUNDLE_FORMAT, DIMENSIONS, readManifest } from '../../../../api/recommendations/model/manifest.ts'
import { RANKING_FEATURES } from '../../../../schemas/recommendations/ranking/ranking-features.ts'
import type { ModelVersion } from '../../../../schemas/recommendations/types.ts'
import type { BlobStore } from '../../../../state/blobs/blob-store.ts'
import { publishFiles } from '../../../../state/versions/publish.ts'

const BUNDLE_NAMES = ['manifest.json', ...BUNDLE_FILES]

export interface TestBundle {
  readonly sequence: number
  /** Epoch ms. */
  readonly trainedAt: number
  /** Axis along which each item's vector points. Items with the same axis are similar. */
  readonly axes: ReadonlyMap<bigint, number>
  readonly dimensions?: number
  /** Axes of tokens, such as `title:heat`. */
  readonly tokens?: Readonly<Record<string, number>>
  /**
   * Functions that replace the contents of files after their checksums were computed, so that the checksums are wrong.
   */
  readonly tamper?: Readonly<Record<string, (content: Buffer) => Buffer>>
  /**
   * Functions that replace the contents of files before their checksums are computed, so that the checksums are right.
   */
  readonly damage?: Readonly<Record<string, (content: Buffer) => Buffer>>
  /** Whether each vector is in a group of its own. By default, no vector is in a group. */
  readonly isGrouped?: boolean
}

/** Writes and stores a bundle in the same way as training. Returns the entry of the bundle in the model history. */
export async function publishBundle(blobs: BlobStore, bundle: TestBundle): Promise<ModelVersion> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bundle-'))
  try {
    writeBundle(folder, bundle)
    const { sequence, trainedAt } = bundle
    // The manifest of a bundle that must be refused may be unreadable. Such a bundle gets a made-up version.
    const version = await readManifest(folder).then(
      (read) => read.version,
      () => `refused-${sequence}`,
    )
    const { files } = await publishFiles({ version, sequence }, { blobs, folder, names: BUNDLE_NAMES })
    return { version, sequence, trained_at: trainedAt, learned_until: trainedAt, files: [...files], metrics: {} }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The groups of a small catalogue, whose vectors are all kept in memory. */
const NO_GROUPS = {
  groups: 0,
  starts: new Uint32Array(1),
  rows: new Uint32Array(),
  steps: new Float32Array(),
  centreSteps: new Float32Array(),
  centres: new Int8Array(),
}

/** Half-precision encodings of the numbers in the test bundles. */
const HALF = { 0: 0, 1: 0x3c00 }

/**
 * Writes a small bundle in the format that training writes. Its only decision tree prefers items whose vector is
 * similar to the user's.
 */
export function writeBundle(folder: string, bundle: TestBundle): void {
  const { sequence, trainedAt, axes, dimensions = DIMENSIONS, tokens = {}, damage = {}, tamper = {}, isGrouped = false } = bundle
  mkdirSync(folder, { recursive: true })
  const ids = [...axes.keys()].sort((a, b) => Number(a - b))
  const halves = new Uint16Array(ids.length * DIMENSIONS)
  const gram = new Float64Array(DIMENSIONS * DIMENSIONS)
  ids.forEach((id, row) => {
    const axis = axes.get(id)!
    halves[row * DIMENSIONS + axis] = HALF[1]
    gram[axis * DIMENSIONS + axis] += 1
  })
  const contents: Record<string, Buffer> = {
    'items.ids': bytesOf(BigInt64Array.from(ids)),
    'items.f16': bytesOf(halves),
    'items.groups': isGrouped ? groupsOf(ids.map((id) => axes.get(id)!)) : Buffer.concat(groupFileStart(NO_GROUPS)),
    'gram.f64': bytesOf(gram),
    'tokens.json': Buffer.from(JSON.stringify(Object.keys(tokens))),
    'tokens.f32': Buffer.concat(Object.values(tokens).map((axis) => bytesOf(along(axis)))),
    'trees.txt': Buffer.from(treesText()),
  }
  const files: Record<string, { bytes: number; sha256: string }> = {}
  for (const [name, content] of Object.entries(contents)) {
    const written = damage[name]?.(content) ?? content
    writeFileSync(join(folder, name), tamper[name]?.(written) ?? written)
    files[name] = { bytes: written.length, sha256: createHash('sha256').update(written).digest('hex') }
  }
  const manifest = {
    format: BUNDLE_FORMAT,
    sequence,
    trained_at: trainedAt,
    dimensions,
    items: ids.length,
    regularization: 0.01,
    greatest_length: 1,
    columns: RANKING_FEATURES,
    files,
  }
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest))
}

/** Returns a file with a group for each row. The row's vector is the centre of its group. */
function groupsOf(axes: readonly number[]): Buffer {
  const rows = Uint32Array.from(axes.keys())
  const starts = Uint32Array.from({ length: axes.length + 1 }, (_, at) => at)
  const numbers = new Int8Array(axes.length * DIMENSIONS)
  const steps = Float32Array.from(axes, (axis, row) => writeNumbers(along(axis), numbers, row * DIMENSIONS))
  const start = groupFileStart({ groups: axes.length, starts, rows, steps, centreSteps: steps, centres: numbers })
  return Buffer.concat([...start, bytesOf(numbers)])
}

function along(axis: number): Float32Array {
  const vector = new Float32Array(DIMENSIONS)
  vector[axis] = 1
  return vector
}

function treesText(): string {
  const column = RANKING_FEATURES.indexOf('vector_similarity')
  const lines = [`split_feature=${column}`, 'threshold=0.5', 'decision_type=2', 'left_child=-1', 'right_child=-2', 'leaf_value=-1.25 1.5']
  return [`feature_names=${RANKING_FEATURES.join(' ')}`, '', 'Tree=0', ...lines, ''].join('\n')
}

function bytesOf(values: ArrayBufferView): Buffer {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength)
}
