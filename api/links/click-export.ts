import { type ClickCursor, type ClickPage, type ClickRange, type LinkClick, readClicks } from '../../state/tables/links/clicks.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import type { Answer } from '../kit/answer.ts'
import { csvLine } from '../kit/csv.ts'
import { PRIVATE } from '../kit/headers.ts'

export const CSV_TYPE = 'text/csv; charset=utf-8; header=present'

const HEADER = csvLine(['clicked_at', 'referrer', 'country', 'browser', 'device', 'bot'])

/**
 * Streams the clicks of a range as CSV, oldest first. Reads the first page before the answer begins, so that a failure
 * of this read results in an error from the catalogue. Reads later pages as the client consumes them. A later failure
 * closes the connection, so that no client mistakes a partial file for a complete one.
 */
export async function clickExport(reader: TableReader, range: ClickRange): Promise<Answer> {
  let page: ClickPage | undefined = await readClicks(reader, range, undefined)
  const encoder = new TextEncoder()

  function linesOf({ clicks }: ClickPage): Uint8Array {
    return encoder.encode(clicks.map(lineOf).join(''))
  }

  async function advance(next: ClickCursor | undefined): Promise<void> {
    page = next === undefined ? undefined : await readClicks(reader, range, next)
  }

  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(HEADER)),
    async pull(controller) {
      if (page === undefined) return controller.close()
      if (page.clicks.length > 0) controller.enqueue(linesOf(page))
      await advance(page.next)
      if (page === undefined) controller.close()
    },
  })
  const headers = {
    'Content-Type': CSV_TYPE,
    'Content-Disposition': `attachment; filename="clicks-${range.code}.csv"`,
    ...PRIVATE,
  }
  return { status: 200, headers, body }
}

function lineOf({ clickedAt, referrer, country, browser, device, bot }: LinkClick): string {
  return csvLine([new Date(clickedAt).toISOString(), referrer, country, browser, device, String(bot)])
}
