import { mkdir } from 'node:fs/promises'
import { BundleError } from '../../../api/recommendations/model/manifest.ts'
import { type OpenModel, openModel } from '../../../api/recommendations/model/open.ts'
import { BlobCorruptError } from '../../../state/blobs/read.ts'
import { type LocalVersionsOptions, localVersions } from '../../../state/versions/local.ts'
import { type FileVersion, VersionRefusedError } from '../../../state/versions/version.ts'

/** Errors after which the APIs do not try to open a version again. */
const REFUSALS = [BundleError, BlobCorruptError, VersionRefusedError]

/**
 * Opens the version in force, to compare a candidate with it.
 * @param options.folder a folder that does not exist yet
 * @returns undefined for a bundle that the APIs refuse as well. The APIs then make lists by the rules, so the candidate
 * is compared with the rules. If the function threw an error instead, no training run could ever replace a bundle of an
 * older format.
 */
export async function openInForce(version: FileVersion, options: Omit<LocalVersionsOptions, 'now'>): Promise<OpenModel | undefined> {
  await mkdir(options.folder)
  try {
    return await openModel(await localVersions({ ...options, now: Date.now }).fetch(version))
  } catch (error) {
    if (REFUSALS.some((Refusal) => error instanceof Refusal)) return undefined
    throw error
  }
}
