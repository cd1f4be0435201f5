import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { RANKING_FEATURES } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { fileDigest } from '../../../state/versions/file-digest.ts'

export const DIMENSIONS = 256
/** Files of a bundle of any format, apart from its manifest. */
const COMMON_FILES = ['items.ids', 'items.f16', 'gram.f64', 'tokens.json', 'tokens.f32', 'trees.txt'] as const
/** The file of a bundle that contains the vectors in groups. */
export const GROUPS_FILE = 'items.groups'
/** Names of the files of a bundle, apart from its manifest. */
export const BUNDLE_FILES = [...COMMON_FILES, GROUPS_FILE] as const
/**
 * Maximum number of items whose vectors are all kept in memory and compared with a query:
 * docs/adr/0055-small-indexes-are-searched-whole.md
 */
export const MOST_WHOLE = 65_536
/** Format of bundles that training writes. */
export const BUNDLE_FORMAT = 3
/** Earlier format, with a usearch index instead of groups. */
const WITHOUT_GROUPS = 2
export const MANIFEST_FILE = 'manifest.json'

const manifestSchema = z.object({
  format: z.literal([WITHOUT_GROUPS, BUNDLE_FORMAT]),
  sequence: z.int().min(1),
  trained_at: z.int().min(0),
  dimensions: z.int(),
  items: z.int().min(1),
  regularization: z.number().positive(),
  /** The maximum length of any item's factors. Products are divided by this length. */
  greatest_length: z.number().positive(),
  columns: z.array(z.string()),
  files: z.record(z.string(), z.object({ bytes: z.int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) })),
})
export type BundleManifest = z.infer<typeof manifestSchema>

/** Error for a bundle that must not be used. The previous version stays in force. */
export class BundleError extends Error {
  override readonly name: string = 'BundleError'
}

/**
 * Reads the manifest of a bundle and checks every file against it.
 * @throws BundleError with a message that names the problem
 */
export async function readManifest(folder: string): Promise<{ manifest: BundleManifest; version: string }> {
  const text = await readFile(join(folder, MANIFEST_FILE), 'utf8').catch((cause) => {
    throw new BundleError('the manifest cannot be read', { cause })
  })
  const manifest = parse(text)
  if (manifest.dimensions !== DIMENSIONS) throw new BundleError(`the vectors have ${manifest.dimensions} numbers instead of ${DIMENSIONS}`)
  if (manifest.columns.join() !== RANKING_FEATURES.join()) throw new BundleError('the ranker was trained on different features')
  if (!hasGroups(manifest) && manifest.items > MOST_WHOLE) {
    throw new BundleError(`the model has ${manifest.items} items but no groups of vectors, because an earlier version trained it`)
  }
  for (const name of hasGroups(manifest) ? BUNDLE_FILES : COMMON_FILES) {
    const expected = manifest.files[name]
    if (expected === undefined) throw new BundleError(`the manifest does not name ${name}`)
    const found = await digestOf(join(folder, name))
    if (found.sha256 !== expected.sha256 || found.bytes !== expected.bytes)
      throw new BundleError(`${name} does not match its checksum or length`)
  }
  return { manifest, version: versionOf(manifest, text) }
}

/** Returns whether a bundle has a file of groups. In a small catalogue, this file contains no groups. */
export function hasGroups({ format }: Pick<BundleManifest, 'format'>): boolean {
  return format !== WITHOUT_GROUPS
}

function parse(text: string): BundleManifest {
  try {
    return manifestSchema.parse(JSON.parse(text))
  } catch (cause) {
    throw new BundleError('the manifest is not valid', { cause })
  }
}

const HASH_LENGTH = 8

/**
 * Returns the version of a bundle: the time of the training run and a hash of the manifest, as in
 * `20260801T120000-1f2e3d4c`.
 */
function versionOf({ trained_at }: BundleManifest, text: string): string {
  const time = new Date(trained_at).toISOString().replace(/[-:]|\.\d+Z/g, '')
  return `${time}-${createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH)}`
}

/**
 * Returns the length and the hash of a file.
 * @throws BundleError if the file cannot be read
 */
export async function digestOf(path: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  try {
    return await fileDigest(path)
  } catch (cause) {
    throw new BundleError(`${path} cannot be read`, { cause })
  }
}
