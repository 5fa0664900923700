/** The schema of `meta.coverage`, on lists and on single rows. */
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
      description: 'The holes.',
      items: {
        type: 'object',
        required: ['source', 'from', 'to', 'reason'],
        properties: {
          source: { type: 'string', description: 'Source with the hole.' },
          from: { type: 'string', format: 'date-time', description: 'Start of the hole.' },
          to: { type: 'string', format: 'date-time', description: 'End of the hole.' },
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
