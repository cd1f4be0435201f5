import { ApiError, errors } from '../../kit/errors.ts'

/** Limits how many forms with images are read at once, because each form needs memory for the file that is arriving. */
export interface FormPlaces {
  /**
   * Reads a form, unless too many forms are being read.
   * @param caller the sender of the form; a single caller cannot use up the whole limit
   * @throws ApiError `unavailable`
   */
  read<T>(caller: string, work: () => Promise<T>): Promise<T>
  /** Total size, over all forms, of the files that have arrived but are not stored yet. */
  readonly waiting: { bytes: number }
}

/**
 * Maximum number of forms that a process reads at once. Each form may take up to 20 MB of memory, in addition to its
 * files in `waiting`.
 */
const MOST_AT_ONCE = 16
const MOST_PER_CALLER = 4
const RETRY_AFTER_SECONDS = 1

export function formPlaces(): FormPlaces {
  const byCaller = new Map<string, number>()
  let taken = 0

  function take(caller: string): void {
    const own = byCaller.get(caller) ?? 0
    if (taken === MOST_AT_ONCE || own === MOST_PER_CALLER) {
      const message = 'Too many forms with images are being read now. Try again shortly.'
      throw new ApiError(errors.unavailable, { message, retryAfter: RETRY_AFTER_SECONDS })
    }
    taken++
    byCaller.set(caller, own + 1)
  }

  function giveBack(caller: string): void {
    taken--
    const left = byCaller.get(caller)! - 1
    if (left === 0) byCaller.delete(caller)
    else byCaller.set(caller, left)
  }

  return {
    waiting: { bytes: 0 },
    async read(caller, work) {
      take(caller)
      try {
        return await work()
      } finally {
        giveBack(caller)
      }
    },
  }
}
