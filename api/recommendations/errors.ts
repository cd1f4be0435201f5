import { defineErrors } from '../kit/errors.ts'

export const recommendationErrors = defineErrors({
  invalid_page_token: {
    status: 400,
    when: 'the page_token is empty or forged, comes from an incompatible release, is older than 30 minutes, or belongs to another user',
    message: 'The page_token is not valid. Ask for a new list.',
  },
  item_not_found: {
    status: 404,
    when: 'the item does not exist or is not active',
    message: 'There is no such item.',
  },
  editorial_list_not_found: {
    status: 404,
    when: 'no editorial list or rule has this name',
    message: 'There is no such editorial list or rule.',
  },
  model_not_found: {
    status: 404,
    when: 'the service keeps no model with this version',
    message: 'There is no such model. GET /internal/models lists the models that are kept.',
  },
  no_earlier_model: {
    status: 409,
    when: 'there is no earlier champion that could be restored',
    message: 'There is no earlier champion that could be restored.',
  },
  model_in_force: {
    status: 409,
    when: 'the requested challenger is already the champion',
    message: 'This model is already the champion.',
  },
})
