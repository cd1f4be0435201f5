import { snippetReads } from '../../schemas/snippets/topics.ts'
import { connectBlobs } from '../../state/blobs/connect.ts'
import { factBuffer } from '../kit/fact-buffer.ts'
import type { OpenService, ServiceKit } from '../service.ts'
import { threadComparer } from './diff/comparer.ts'
import { snippetsHandlers } from './handlers.ts'
import { threadHighlighter } from './page/highlighter.ts'
import { contentStreams } from './streams.ts'

/** Maximum number of snippet reads that wait for Kafka. This many reads take about 20 MB. */
const READS_CAPACITY = 100_000
/**
 * How long a stopping process waits for Kafka to accept the last reads. If Kafka is reachable, this takes less time.
 */
const LAST_READS_MS = 2_000

/** Opens the service: its routes, the blob store, and the threads that highlight and compare texts. */
export async function openSnippets(kit: ServiceKit): Promise<OpenService> {
  const { facts, state, metrics, log } = kit
  const counted = factBuffer({
    open: () => facts.openLog(snippetReads),
    capacity: READS_CAPACITY,
    registry: metrics.registry,
    name: 'snippet_reads',
    log,
  })
  const highlighter = threadHighlighter()
  const comparer = threadComparer()
  const blobs = await connectBlobs(state.blobs)
  return {
    ...snippetsHandlers({ ...kit, blobs, streams: contentStreams(), counted, highlighter, comparer }),
    close: () => Promise.all([counted.close(LAST_READS_MS), highlighter.close(), comparer.close()]),
  }
}
