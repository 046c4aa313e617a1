import EventLog
import Events
import JSON

extension KeyScheme {
    /// Extracts the ``TraceKey``s of a pipeline's events. Raise the version when you change which keys
    /// an event has.
    package static let trace = KeyScheme(name: "belfry trace", version: 5) {
        let extraction = TraceExtraction()
        return { line, keys in extraction.keys(of: line, into: &keys) }
    }
}

/// Reads the keys of events, with one parser for all events.
private final class TraceExtraction {
    private var parser = JSONParser(limits: JSONLimits(bytesMax: EventLogLimits.eventBytesMax, depthMax: 512))
    /// The maximum number of `unmatched` keys for one `not_matched` event, one key for each thousand of changes.
    /// Belfry's own events need fewer keys.
    private static let thousandsMax = 1_000

    func keys(of line: UnsafeRawBufferPointer, into keys: inout [UInt64]) {
        do throws(JSONError) {
            let event = try parser.parse(line)
            guard let type = event[.type] else { return }
            if !add(event, type, to: &keys) { addState(event, to: &keys) }
        } catch {
            // The line is not JSON, or is nested too deeply. It has no keys.
            return
        }
    }

    /// - Returns: False, without adding a key, for the events whose keys `addState` adds.
    private func add(_ event: JSONValue, _ type: JSONValue, to keys: inout [UInt64]) -> Bool {
        if type.equals(EventName.recordSave) || type.equals(EventName.recordDelete) {
            keys.add(TraceKey(.record, texts: event[.record]?[.recordName]))
            keys.add(TraceKey(.device, texts: event[.origin]?[.device]))
        } else if type.equals(EventName.match) {
            keys.add(.change, event[.change])
            addNotification(event, to: &keys)
        } else if type.equals(EventName.notification) || type.equals(EventName.push) {
            addCauses(event, to: &keys)
            addNotification(event, to: &keys)
        } else if type.equals(EventName.outcome) || type.equals(EventName.attempt) {
            addOutcome(event, to: &keys)
        } else if type.equals(EventName.deviceRetired) || type.equals(EventName.noticeOutcome)
            || type.equals(EventName.noticeAttempt)
        {
            addOutcome(event, to: &keys)
            keys.add(TraceKey(.userState, texts: event[.user]))
            keys.add(TraceKey(.deviceState, texts: event[.device]))
        } else if type.equals(EventName.appStopped) || type.equals(EventName.appResumed) {
            keys.add(TraceKey(.app, 0))
        } else if type.equals(EventName.coalesced) {
            addCoalesced(event, to: &keys)
        } else if type.equals(EventName.notMatched) {
            addUnmatched(event, to: &keys)
        } else if type.equals(EventName.deadLetter) {
            keys.add(.deadLetter, event[.sequence])
        } else {
            return false
        }
        return true
    }

    private func addNotification(_ event: JSONValue, to keys: inout [UInt64]) {
        keys.add(TraceKey(.notification, texts: event[.notificationID]))
        keys.add(TraceKey(.record, texts: event[.recordName]))
        addUserAndSubscription(event, to: &keys)
    }

    private func addUserAndSubscription(_ event: JSONValue, to keys: inout [UInt64]) {
        let (user, subscription) = (event[.user], event[.subscriptionID])
        keys.add(TraceKey(.user, texts: user))
        keys.add(TraceKey(.subscription, texts: subscription))
        keys.add(TraceKey(.userSubscription, texts: user, subscription))
    }

    private func addCauses(_ event: JSONValue, to keys: inout [UInt64]) {
        guard let causes = event[.causes] else { return }
        for cause in causes.elements { keys.add(.change, cause[.sequence]) }
    }

    private func addOutcome(_ event: JSONValue, to keys: inout [UInt64]) {
        addCauses(event, to: &keys)
        keys.add(.push, event[.push])
        keys.add(TraceKey(.notification, texts: event[.notificationID]))
        keys.add(TraceKey(.user, texts: event[.user]))
        keys.add(TraceKey(.device, texts: event[.device]))
        keys.add(TraceKey(.apnsID, texts: event[.apnsID] ?? event[.webhookID]))
    }

    private func addCoalesced(_ event: JSONValue, to keys: inout [UInt64]) {
        keys.add(.change, event[.change])
        keys.add(.match, event[.match])
        keys.add(.replacement, event[.replacedBy])
        addUserAndSubscription(event, to: &keys)
    }

    private func addUnmatched(_ event: JSONValue, to keys: inout [UInt64]) {
        guard let first = event[.first]?.sequence, let last = event[.last]?.sequence, first <= last else { return }
        let thousands = TraceKey.thousand(of: first)...TraceKey.thousand(of: last)
        for thousand in thousands.prefix(Self.thousandsMax) { keys.add(TraceKey(.unmatched, thousand)) }
    }

    /// Adds the keys of commands about devices, subscriptions, badges and zones, of redrives, and of events of a
    /// plugin's own types.
    private func addState(_ event: JSONValue, to keys: inout [UInt64]) {
        keys.add(TraceKey(content: event.canonical))
        keys.add(.redrive, event[.redriveOf]?[.sequence])
        let subscription = event[.subscription]?[.subscriptionID] ?? event[.subscriptionID]
        keys.add(TraceKey(.device, texts: event[.device]))
        keys.add(TraceKey(.deviceState, texts: event[.device]))
        keys.add(TraceKey(.token, texts: event[.token]))
        keys.add(TraceKey(.userState, texts: event[.user]))
        keys.add(TraceKey(.subscription, texts: subscription))
        keys.add(TraceKey(.userSubscription, texts: event[.user], subscription))
    }
}

extension [UInt64] {
    fileprivate mutating func add(_ key: TraceKey?) { if let key { append(key.hash) } }

    fileprivate mutating func add(_ kind: TraceKey.Kind, _ value: JSONValue?) {
        if let number = value?.sequence { add(TraceKey(kind, number)) }
    }
}
