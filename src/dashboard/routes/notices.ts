import { type Static, Type } from 'typebox'
import type { AuditLog } from '../../accounts/audit-log.ts'
import {
  NOTICE_KINDS,
  NOTICE_LENGTH,
  type NoticeInput,
  type NoticeRecord,
  type Notices,
} from '../../accounts/notices.ts'
import { parseTime } from '../../core/time.ts'
import {
  DashboardError,
  type DashboardRoute,
  json,
  operatorRoute,
  readJsonBody,
  type SignedIn,
  userRoute,
} from '../route.ts'
import { noticeView } from '../views.ts'

const time = Type.String({ maxLength: 40 })
const Notice = Type.Object(
  {
    kind: Type.Union(NOTICE_KINDS.map((kind) => Type.Literal(kind))),
    title: Type.String({ minLength: 1, maxLength: NOTICE_LENGTH.title }),
    text: Type.String({ maxLength: NOTICE_LENGTH.text }),
    starts_at: time,
    ends_at: Type.Union([time, Type.Null()]),
  },
  { additionalProperties: false },
)

/** Incidents and maintenance: the operator writes them, and every signed-in user sees the current ones. */
export function noticeRoutes(deps: { notices: Notices; audit: AuditLog }): DashboardRoute[] {
  const { notices } = deps
  const note = ({ session }: SignedIn, action: string, { kind, title }: NoticeRecord) =>
    deps.audit.note({
      actor: session.user.email,
      action,
      accountId: null,
      detail: `${kind}: ${title}`,
    })
  const idOf = (context: SignedIn) => context.params.id ?? ''

  return [
    userRoute('GET notices', async () => json({ notices: (await notices.current()).map(noticeView) })),
    operatorRoute('GET operator/notices', async () =>
      json({ notices: (await notices.list()).map(noticeView) }),
    ),
    operatorRoute('POST operator/notices', async (context) => {
      const notice = await notices.create(inputOf(readJsonBody(Notice, context.request)))
      await note(context, 'notice.created', notice)
      return json(noticeView(notice), 201)
    }),
    operatorRoute('PUT operator/notices/{id}', async (context) => {
      const notice = await notices.change(idOf(context), inputOf(readJsonBody(Notice, context.request)))
      await note(context, 'notice.changed', notice)
      return json(noticeView(notice))
    }),
    operatorRoute('DELETE operator/notices/{id}', async (context) => {
      const notice = await notices.delete(idOf(context))
      await note(context, 'notice.deleted', notice)
      return json({ deleted: true })
    }),
  ]
}

function inputOf({ kind, title, text, starts_at, ends_at }: Static<typeof Notice>): NoticeInput {
  return {
    kind,
    title,
    text,
    startsAtMs: timeOf('starts_at', starts_at),
    endsAtMs: ends_at === null ? null : timeOf('ends_at', ends_at),
  }
}

function timeOf(name: string, value: string): number {
  const timeMs = parseTime(value)
  if (timeMs === undefined) throw new DashboardError(422, 'invalid_param', `${name} is not a time.`)
  return timeMs
}
