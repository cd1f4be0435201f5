import { snippetBlobs, snippetDecisions, snippetTexts } from '../../schemas/snippets/topics.ts'
import { snippetsTable } from '../../state/tables/snippets/snippets.ts'
import { decisionView } from '../../state/views/results.ts'
import { snippetBlobsView } from '../../state/views/snippets/snippet-blobs.ts'
import { snippetsView } from '../../state/views/snippets/snippets.ts'
import { type SinkDeclaration, tableSink, viewSink } from '../sinks.ts'

/** Snippets with the results of commands, for the API. */
export const snippetSinks: readonly SinkDeclaration[] = [viewSink('snippets-view', decisionView(snippetsView), [snippetDecisions])]

/** What nobody waits for: the search, and which blobs are wanted. */
export const snippetBulkSinks: readonly SinkDeclaration[] = [
  viewSink('snippet-blobs-view', snippetBlobsView, [snippetBlobs]),
  tableSink('snippets-table', snippetsTable, snippetTexts),
]
