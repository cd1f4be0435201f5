import { defineErrors } from '../kit/errors.ts'

/** The snippets service's own entries of the error catalogue. */
export const snippetErrors = defineErrors({
  paste_not_found: {
    status: 404,
    retryable: false,
    when: 'there is no snippet of that id: never, deleted, expired, or read as often as it may be',
    message: 'There is no such snippet.',
  },
  private_paste: {
    status: 403,
    retryable: false,
    when: 'the snippet is private, and the caller is not its owner',
    message: 'This snippet is private.',
  },
  invalid_content: {
    status: 400,
    retryable: false,
    when: 'the content of a snippet is empty',
    message: 'The content must not be empty.',
  },
  invalid_language: {
    status: 400,
    retryable: false,
    when: 'the language of a snippet is none that is known here',
    message: 'There is no such language here: leave it out, and it is detected.',
  },
  not_comparable: {
    status: 422,
    retryable: false,
    when: 'two snippets are too large or too different to be compared',
    message: 'The snippets are too large or too different to be compared.',
  },
})
