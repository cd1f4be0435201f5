import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BUNDLE_FILES, BUNDLE_FORMAT, type BundleManifest, DIMENSIONS, digestOf } from '../../../api/recommendations/model/manifest.ts'
import { RANKING_FEATURES } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import type { Factorised } from './factorise.ts'

/**
 * Writes the manifest of a bundle, which must already contain all other files. A folder without a manifest is not a
 * bundle.
 */
export async function writeManifest(folder: string, factorised: Factorised, sequence: number, trainedAt: number): Promise<void> {
  const files: Record<string, { bytes: number; sha256: string }> = {}
  for (const name of BUNDLE_FILES) files[name] = await digestOf(join(folder, name))
  const manifest: BundleManifest = {
    format: BUNDLE_FORMAT,
    sequence,
    trained_at: trainedAt,
    dimensions: DIMENSIONS,
    items: factorised.items,
    regularization: factorised.regularization,
    greatest_length: factorised.greatestLength,
    columns: [...RANKING_FEATURES],
    files,
  }
  await writeFile(join(folder, 'manifest.json'), JSON.stringify(manifest))
}
