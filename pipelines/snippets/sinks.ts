import { snippetBlobs, snippetDecisions, snippetTexts } from '../../schemas/snippets/topics.ts'
import { snippetsTable } from '../../state/tables/snippets/snippets.ts'
import { decisionView } from '../../state/views/results.ts'
import { snippetBlobsView } from '../../state/views/snippets/snippet-blobs.ts'
import { snippetsView } from '../../state/views/snippets/snippets.ts'
import type { Runner } from '../engine/index.ts'
import { type SinkContext, tableSink, viewSink } from '../sinks.ts'
import { blobSweep } from './sweep.ts'

/** Snippets with the results of commands, for the API. */
export function snippetSinks(context: SinkContext): Runner[] {
  return [viewSink('snippets-view', decisionView(snippetsView), [snippetDecisions], context)]
}

/** What nobody waits for: the search, and which blobs are wanted, with the sweep that asks. */
export function snippetBulkSinks(context: SinkContext): Runner[] {
  return [
    viewSink('snippet-blobs-view', snippetBlobsView, [snippetBlobs], context),
    tableSink('snippets-table', snippetsTable, snippetTexts, context),
    blobSweep(context),
  ]
}
