/** The schema of `meta.coverage`, for lists and for single rows. */
export const coverageSchema = {
  type: ['object', 'null'],
  description: 'What was observed of the range of this page.',
  required: ['from', 'to', 'complete', 'gaps'],
  properties: {
    from: { type: ['string', 'null'], format: 'date-time', description: 'Start of the range.' },
    to: { type: ['string', 'null'], format: 'date-time', description: 'End of the range.' },
    complete: { type: 'boolean', description: 'Whether nothing is missing.' },
    gaps: {
      type: 'array',
      description: 'The gaps.',
      items: {
        type: 'object',
        required: ['source', 'from', 'to', 'reason'],
        properties: {
          source: { type: 'string', description: 'Source with the gap.' },
          from: { type: 'string', format: 'date-time', description: 'Start of the gap.' },
          to: { type: 'string', format: 'date-time', description: 'End of the gap.' },
          reason: {
            type: 'string',
            enum: ['not_observed', 'venue_down', 'before_start', 'not_provided'],
            description: 'Why there is nothing.',
          },
        },
      },
    },
  },
} as const
