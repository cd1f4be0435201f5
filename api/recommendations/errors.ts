import { defineErrors } from '../kit/errors.ts'

/** Errors of recommendations. */
export const recommendationErrors = defineErrors({
  invalid_page_token: {
    status: 400,
    when: 'a page_token is forged, older than 30 minutes or another user’s',
    message: 'The page_token is not valid. Ask for a new list.',
  },
  item_not_found: {
    status: 404,
    when: 'no such item exists, or it is not active',
    message: 'There is no such item.',
  },
  editorial_list_not_found: {
    status: 404,
    when: 'no editorial list has this name',
    message: 'There is no such editorial list.',
  },
})
