import { fileURLToPath } from 'node:url'

/** Default folder of the public data sets: a folder next to the checkout. */
const DEFAULT_DATA_FOLDER = fileURLToPath(new URL('../../shared/data', import.meta.url))

/**
 * Returns the folder in which the public data sets (places, tweets …) are expected. `dataSet` reports data sets that
 * are missing.
 */
export function expectedDataFolder(): string {
  return process.env.MILLRACE_DATA || DEFAULT_DATA_FOLDER
}
