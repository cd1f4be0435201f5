import { linkDecisions, userLinks } from '../../schemas/links/topics.ts'
import { linksView } from '../../state/views/links/links.ts'
import { userLinksView } from '../../state/views/links/user-links.ts'
import { decisionView } from '../../state/views/results.ts'
import { type SinkDeclaration, viewSink } from '../sinks.ts'

/** Sinks that fill the views from which the API reads links, the results of commands, and the lists of users' links. */
export const linkSinks: readonly SinkDeclaration[] = [
  viewSink('links-view', decisionView(linksView), [linkDecisions]),
  viewSink('user-links-view', userLinksView, [userLinks]),
]
