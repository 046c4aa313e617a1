import EventLog
import Events
import JSON

extension KeyScheme {
    /// The keys of all events of a pipeline, see ``TraceKey``. Raise the version with every change.
    package static let trace = KeyScheme(name: "belfry trace", version: 5) {
        let extraction = TraceExtraction()
        return { line, keys in extraction.keys(of: line, into: &keys) }
    }
}

/// Reads the keys out of events; keeps its parser for all of them.
private final class TraceExtraction {
    private var parser = JSONParser(limits: JSONLimits(bytesMax: EventLogLimits.eventBytesMax, depthMax: 512))
    /// A count of changes beyond it is not ours.
    private static let thousandsMax: UInt64 = 1_000

    func keys(of line: UnsafeRawBufferPointer, into keys: inout [UInt64]) {
        do throws(JSONError) {
            let event = try parser.parse(line)
            guard let type = event[.type] else { return }
            if !add(event, type, to: &keys) { addState(event, to: &keys) }
        } catch {
            // A line that is no JSON has no keys; `belfry log verify` tells of it.
            return
        }
    }

    /// False where the type is none of those that changes lead to.
    private func add(_ event: JSONValue, _ type: JSONValue, to keys: inout [UInt64]) -> Bool {
        if type.equals(EventName.recordSave) || type.equals(EventName.recordDelete) {
            keys.add(TraceHash.of(.record, event[.record]?[.recordName]))
            keys.add(TraceHash.of(.device, event[.origin]?[.device]))
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
            keys.add(TraceHash.of(.userState, event[.user]))
            keys.add(TraceHash.of(.deviceState, event[.device]))
        } else if type.equals(EventName.appStopped) || type.equals(EventName.appResumed) {
            keys.append(TraceHash.of(.app, 0))
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
        keys.add(TraceHash.of(.notification, event[.notificationID]))
        keys.add(TraceHash.of(.record, event[.recordName]))
        addAddress(event, to: &keys)
    }

    private func addAddress(_ event: JSONValue, to keys: inout [UInt64]) {
        let (user, subscription) = (event[.user], event[.subscriptionID])
        keys.add(TraceHash.of(.user, user))
        keys.add(TraceHash.of(.subscription, subscription))
        keys.add(TraceHash.of(.userSubscription, user, subscription))
    }

    private func addCauses(_ event: JSONValue, to keys: inout [UInt64]) {
        guard let causes = event[.causes] else { return }
        for cause in causes.elements { keys.add(.change, cause[.sequence]) }
    }

    private func addOutcome(_ event: JSONValue, to keys: inout [UInt64]) {
        addCauses(event, to: &keys)
        keys.add(.push, event[.push])
        keys.add(TraceHash.of(.notification, event[.notificationID]))
        keys.add(TraceHash.of(.user, event[.user]))
        keys.add(TraceHash.of(.device, event[.device]))
        keys.add(TraceHash.of(.apnsID, event[.apnsID] ?? event[.webhookID]))
    }

    private func addCoalesced(_ event: JSONValue, to keys: inout [UInt64]) {
        keys.add(.change, event[.change])
        keys.add(.match, event[.match])
        keys.add(.replacement, event[.replacedBy])
        addAddress(event, to: &keys)
    }

    private func addUnmatched(_ event: JSONValue, to keys: inout [UInt64]) {
        guard let first = event[.first]?.sequence, let last = event[.last]?.sequence, first <= last else { return }
        let thousands = TraceKey.thousand(of: first)...TraceKey.thousand(of: last)
        for thousand in thousands.prefix(Int(TraceExtraction.thousandsMax)) {
            keys.append(TraceHash.of(.unmatched, thousand))
        }
    }

    /// Devices and subscriptions, and what plugins add to the language.
    private func addState(_ event: JSONValue, to keys: inout [UInt64]) {
        keys.append(TraceHash.of(content: event.canonical))
        keys.add(.redrive, event[.redriveOf]?[.sequence])
        let subscription = event[.subscription]?[.subscriptionID] ?? event[.subscriptionID]
        keys.add(TraceHash.of(.device, event[.device]))
        keys.add(TraceHash.of(.deviceState, event[.device]))
        keys.add(TraceHash.of(.token, event[.token]))
        keys.add(TraceHash.of(.userState, event[.user]))
        keys.add(TraceHash.of(.subscription, subscription))
        keys.add(TraceHash.of(.userSubscription, event[.user], subscription))
    }
}

extension [UInt64] {
    fileprivate mutating func add(_ key: UInt64?) {
        if let key { append(key) }
    }

    fileprivate mutating func add(_ kind: TraceHash.Kind, _ value: JSONValue?) {
        if let number = value?.sequence { append(TraceHash.of(kind, number)) }
    }
}
