import { fileURLToPath } from 'node:url'

/** Default folder of the public data sets: beside the checkout. */
const DEFAULT_DATA_FOLDER = fileURLToPath(new URL('../../shared/data', import.meta.url))

/** Returns the folder in which the public data sets (places, tweets …) are expected. `dataSet` reports missing ones. */
export function expectedDataFolder(): string {
  return process.env.MILLRACE_DATA ?? DEFAULT_DATA_FOLDER
}
