import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { RANKING_FEATURES } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { fileDigest } from '../../../state/versions/file-digest.ts'

export const DIMENSIONS = 256
/** Names of the files of a bundle, apart from its manifest. */
export const BUNDLE_FILES = ['items.ids', 'items.f16', 'items.usearch', 'gram.f64', 'tokens.json', 'tokens.f32', 'trees.txt'] as const
export const MANIFEST_FILE = 'manifest.json'

const manifestSchema = z.object({
  /** Version 2: the vectors in the index are scaled to the square roots of their lengths. */
  format: z.literal(2),
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
  for (const name of BUNDLE_FILES) {
    const expected = manifest.files[name]
    if (expected === undefined) throw new BundleError(`the manifest does not name ${name}`)
    const found = await digestOf(join(folder, name))
    if (found.sha256 !== expected.sha256 || found.bytes !== expected.bytes)
      throw new BundleError(`${name} does not match its checksum or length`)
  }
  return { manifest, version: versionOf(manifest, text) }
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
