/// The names of all event types, as constants for code that reads or writes events.
package enum EventName {
    @inlinable package static var recordSave: StaticString { "record.save" }
    @inlinable package static var recordDelete: StaticString { "record.delete" }
    @inlinable package static var zoneSave: StaticString { "zone.save" }
    @inlinable package static var zoneDelete: StaticString { "zone.delete" }
    @inlinable package static var subscriptionSave: StaticString { "subscription.save" }
    @inlinable package static var subscriptionDelete: StaticString { "subscription.delete" }
    @inlinable package static var deviceRegister: StaticString { "device.register" }
    @inlinable package static var deviceUnregister: StaticString { "device.unregister" }
    @inlinable package static var badgeSet: StaticString { "badge.set" }
    @inlinable package static var pushRedrive: StaticString { "push.redrive" }
    @inlinable package static var match: StaticString { "match" }
    @inlinable package static var notMatched: StaticString { "not_matched" }
    @inlinable package static var notification: StaticString { "notification" }
    @inlinable package static var coalesced: StaticString { "coalesced" }
    @inlinable package static var push: StaticString { "push" }
    @inlinable package static var outcome: StaticString { "outcome" }
    @inlinable package static var attempt: StaticString { "attempt" }
    @inlinable package static var deviceRetired: StaticString { "device.retired" }
    @inlinable package static var noticeOutcome: StaticString { "notice.outcome" }
    @inlinable package static var noticeAttempt: StaticString { "notice.attempt" }
    @inlinable package static var appStopped: StaticString { "app.stopped" }
    @inlinable package static var appResumed: StaticString { "app.resumed" }
    @inlinable package static var deadLetter: StaticString { "dead_letter" }
}

/// The names of commands that become events of other types.
package enum CommandName {
    /// Several operations on records; becomes a `record.save` or `record.delete` for each.
    @inlinable package static var recordsModify: StaticString { "records.modify" }
}

/// Allows names of event types and ``Member``s as patterns in a `switch` over a string.
package func ~= (name: StaticString, text: String) -> Bool { text == name.description }
