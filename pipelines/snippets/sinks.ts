import { snippetBlobs, snippetDecisions, snippetTexts } from '../../schemas/snippets/topics.ts'
import { erasureTimes } from '../../state/erasure.ts'
import { snippetsTable } from '../../state/tables/snippets/snippets.ts'
import { decisionView } from '../../state/views/results.ts'
import { snippetBlobsView } from '../../state/views/snippets/snippet-blobs.ts'
import { snippetsView } from '../../state/views/snippets/snippets.ts'
import { type SinkDeclaration, tableSink, viewSink } from '../sinks.ts'

/** Sink that writes snippets and command results to the view that the API reads. Requests wait for this sink. */
export const snippetSinks: readonly SinkDeclaration[] = [
  viewSink('snippets-view', ({ eraseWithinMs }) => decisionView(snippetsView(erasureTimes(eraseWithinMs).repeatableMs)), [
    snippetDecisions,
  ]),
]

/** Sinks that no request waits for. They write the blob references, and the data for search. */
export const snippetBulkSinks: readonly SinkDeclaration[] = [
  viewSink('snippet-blobs-view', snippetBlobsView, [snippetBlobs]),
  tableSink('snippets-table', snippetsTable, snippetTexts),
]
