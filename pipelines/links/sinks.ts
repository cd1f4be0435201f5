import { linkDecisions, userLinks } from '../../schemas/links/topics.ts'
import { linksView } from '../../state/views/links/links.ts'
import { userLinksView } from '../../state/views/links/user-links.ts'
import { decisionView } from '../../state/views/results.ts'
import type { Runner } from '../engine/index.ts'
import { type SinkContext, viewSink } from '../sinks.ts'

/** Links with the results of commands, and the lists of users, for the API. */
export function linkSinks(context: SinkContext): Runner[] {
  return [
    viewSink('links-view', decisionView(linksView), [linkDecisions], context),
    viewSink('user-links-view', userLinksView, [userLinks], context),
  ]
}
