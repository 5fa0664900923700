import { useState } from 'preact/hooks'
import type { CreatedKeyView, KeyView } from '../../wire.ts'
import { call } from '../api.ts'
import { ago, compact, dateTime, plural } from '../format.ts'
import { useLoad } from '../load.ts'
import { Confirm, Dialog } from '../ui/dialog.tsx'
import { Badge, Button, Card, Empty, PageFrame, Problem } from '../ui/parts.tsx'
import { Copyable, ShownOnce } from '../ui/shown-once.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { NewKeyForm } from './new-key.tsx'
import { RotateForm } from './rotate-key.tsx'

type Open =
  | { what: 'create' }
  | { what: 'revoke' | 'rotate'; key: KeyView }
  | { what: 'shown'; created: CreatedKeyView }

export function Keys() {
  const { value, error, reload } = useLoad(() => call<{ keys: KeyView[] }>('GET', 'keys'), [], 10_000)
  const [open, setOpen] = useState<Open>()
  const close = () => {
    setOpen(undefined)
    reload()
  }
  const show = (created: CreatedKeyView) => setOpen({ what: 'shown', created })
  const active = value?.keys.filter(isActive) ?? []
  const ended = value?.keys.filter((key) => !isActive(key)) ?? []
  return (
    <PageFrame
      title="API keys"
      lead="A key is shown once, when it is made. Send it in the header X-API-Key."
      actions={
        <Button look="primary" onClick={() => setOpen({ what: 'create' })}>
          Create key
        </Button>
      }
    >
      <Problem text={error} />
      {value !== undefined && active.length === 0 && (
        <Empty>
          <strong>No keys yet</strong>
          <p class="muted">Create one to make your first call.</p>
        </Empty>
      )}
      {active.length > 0 && (
        <Card class="flush">
          <KeyTable
            keys={active}
            onRotate={(key) => setOpen({ what: 'rotate', key })}
            onRevoke={(key) => setOpen({ what: 'revoke', key })}
          />
        </Card>
      )}
      {ended.length > 0 && (
        <details>
          <summary>Revoked and expired keys ({ended.length})</summary>
          <Card class="flush">
            <KeyTable keys={ended} />
          </Card>
        </details>
      )}
      {open?.what === 'create' && (
        <Dialog title="Create a key" onClose={close}>
          <NewKeyForm onCreated={show} />
        </Dialog>
      )}
      {open?.what === 'shown' && <NewKey created={open.created} onClose={close} />}
      {open?.what === 'rotate' && (
        <Dialog title={`Rotate ${open.key.name}`} onClose={close}>
          <RotateForm record={open.key} onCreated={show} />
        </Dialog>
      )}
      {open?.what === 'revoke' && <RevokeKey record={open.key} path="keys" onDone={reload} onClose={close} />}
    </PageFrame>
  )
}

function isActive(key: KeyView): boolean {
  return key.revoked_at === null && (key.expires_at === null || Date.parse(key.expires_at) > Date.now())
}

export function KeyTable(props: {
  keys: KeyView[]
  onRotate?: (key: KeyView) => void
  onRevoke?: (key: KeyView) => void
}) {
  const columns: Column<KeyView>[] = [
    { title: 'Name', cell: (key) => <strong class="break">{key.name}</strong> },
    {
      title: 'Key',
      cell: (key) => (
        <>
          <code>
            svc_{key.environment}_…{key.hint}
          </code>{' '}
          <Badge tone={key.environment}>{key.environment}</Badge>
        </>
      ),
    },
    { title: 'Limits', class: 'muted', cell: limitsOf },
    { title: 'Last used', cell: (key) => ago(key.last_used_at) },
    {
      title: 'Expires',
      cell: (key) =>
        key.revoked_at === null ? (
          dateTime(key.expires_at)
        ) : (
          <Badge tone="bad">revoked {ago(key.revoked_at)}</Badge>
        ),
    },
    {
      cell: (key) => (
        <>
          {props.onRotate && key.replaced_by !== null && <Badge tone="warn">replaced</Badge>}
          {props.onRotate && key.replaced_by === null && (
            <Button look="small" onClick={() => props.onRotate?.(key)}>
              Rotate
            </Button>
          )}
          {props.onRevoke && key.revoked_at === null && (
            <Button look="small danger" onClick={() => props.onRevoke?.(key)}>
              Revoke
            </Button>
          )}
        </>
      ),
    },
  ]
  return <Table columns={columns} rows={props.keys} idOf={(key) => key.id} />
}

function limitsOf(key: KeyView): string {
  const parts = [
    key.scopes === null ? 'all scopes' : key.scopes.join(', '),
    key.allowed_cidrs === null ? '' : plural(key.allowed_cidrs.length, 'address range'),
    key.credit_cap === null ? '' : `cap ${compact(key.credit_cap)}`,
  ]
  return parts.filter((part) => part !== '').join(' · ')
}

function NewKey({ created, onClose }: { created: CreatedKeyView; onClose: () => void }) {
  const curl = `curl -H "X-API-Key: ${created.key}" "${location.origin}/v1/limits"`
  return (
    <ShownOnce
      title="Your new key"
      lead="Copy it now: it is not stored and cannot be shown again."
      secret={created.key}
      name="key"
      onClose={onClose}
    >
      <p class="muted">Try it:</p>
      <Copyable text={curl} label="Copy curl" />
    </ShownOnce>
  )
}

/** The confirmation before a key is revoked. */
export function RevokeKey(props: { record: KeyView; path: string; onDone: () => void; onClose: () => void }) {
  return (
    <Confirm
      title={`Revoke ${props.record.name}?`}
      text="Calls with this key are refused within a second. This cannot be undone."
      action="Revoke key"
      onYes={async () => {
        await call('POST', `${props.path}/${props.record.id}/revoke`, {})
        props.onDone()
      }}
      onClose={props.onClose}
    />
  )
}
