import Foundation
import PipelineKit
import Time

@testable import BelfryTool
@testable import Inspect

/// Logs with dead letters, written by hand: event N of each log is at second N of 2026.
final class DeadLetterLogs {
    private(set) var events: [String: [String]] = [:]
    private let logs: TracedLogs

    static let place = #""container":"iCloud.Notes","environment":"development""#

    init() throws { logs = try TracedLogs() }

    var path: String { logs.path }

    /// Appends to a log in memory.
    ///
    /// - Returns: The event's sequence.
    @discardableResult
    func add(_ log: String, _ event: String) -> Int {
        events[log, default: []].append(event)
        return events[log]?.count ?? 0
    }

    func write(segmentBytesMax: Int = 128 << 20) throws {
        let upstream = [
            "outcomes": "pushes", "matches.dead-letters": "changes", "outcomes.dead-letters": "pushes",
            "pushes.dead-letters": "notifications",
        ]
        for log in RecordedLogs.standardNames where events[log] == nil { events[log] = [] }
        for (log, events) in events {
            try logs.write(log, events, from: upstream[log], segmentBytesMax: segmentBytesMax)
        }
    }

    /// Removes the segments with only changes before `sequence`, as retention does.
    func trimChanges(before sequence: UInt64) throws { try logs.trim("changes", before: sequence) }

    func find(
        _ arguments: [String] = [], now: Int = 3_600, including included: Set<Obsolescence> = []
    ) throws -> DeadLetters {
        try DeadLetters(
            RecordedLogs(place: path), DeadLetterOptions.parse(arguments).filter,
            RedriveEligibility(now: Self.time(now), included: included))
    }

    static func time(_ second: Int) -> Instant {
        Instant(microseconds: 1_767_225_600_000_000 + Int64(second) * 1_000_000)
    }

    // MARK: Events

    @discardableResult
    func register(
        _ device: String, token: String, of user: String = "_alice", topic: String = "com.a"
    ) -> Int {
        let event =
            #"{"type":"device.register",\#(Self.place),"user":"\#(user)","device":"\#(device)","transport":"apns","#
            + #""token":"\#(token)","topic":"\#(topic)"}"#
        add("changes", event)
        return add("pushes", event)
    }

    @discardableResult
    func push(
        to user: String = "_alice", collapseID: String? = nil, expiration: Int? = nil, change: Int = 1,
        container: String = "iCloud.Notes"
    ) -> Int {
        add("pushes", Self.push(to: user, collapseID, expiration, change, container))
    }

    static func push(
        to user: String, _ collapseID: String?, _ expiration: Int?, _ change: Int, _ container: String
    ) -> String {
        let collapse = collapseID.map { #","apns-collapse-id":"\#($0)""# } ?? ""
        let expires = expiration.map { #","apns-expiration":"\#(1_767_225_600 + $0)""# } ?? ""
        return
            #"{"type":"push","notificationID":"n\#(change)","container":"\#(container)","environment":"development","#
            + #""user":"\#(user)","subscriptionID":"feed","headers":{"apns-push-type":"alert"\#(expires)\#(collapse)},"#
            + #""payload":{"aps":{"alert":"Hi"}},"causes":[{"log":"changes","sequence":\#(change)}]}"#
    }

    @discardableResult
    func outcome(
        _ outcome: String, _ push: Int, _ device: String = "mac", of user: String = "_alice", reason: String? = nil,
        status: Int? = nil, change: Int = 1
    ) -> Int {
        let words = (status.map { #","status":\#($0)"# } ?? "") + (reason.map { #","reason":"\#($0)""# } ?? "")
        let type = ["deferred", "held"].contains(outcome) ? "attempt" : "outcome"
        return add(
            "outcomes",
            #"{"type":"\#(type)","push":\#(push),"notificationID":"n","user":"\#(user)","device":"\#(device)","#
                + #""transport":"apns","apns-id":"x","outcome":"\#(outcome)"\#(words),"attempts":1,"#
                + #""causes":[{"log":"changes","sequence":\#(change)}]}"#)
    }

    @discardableResult
    func addDeadLetter(
        of event: String, by stage: String = "match", in log: String = "matches", from upstream: String = "changes",
        at sequence: Int = 1, code: String = "field.type"
    ) -> Int {
        let quoted = event.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return add(
            log + ".dead-letters",
            #"{"type":"dead_letter","stage":"\#(stage)","log":"\#(upstream)","sequence":\#(sequence),"code":"\#(code)","#
                + #""path":"record","reason":"must be an object","event":"\#(quoted)"}"#)
    }
}

extension DeadLetters {
    /// Each letter's log and sequence, with the reason if the letter is obsolete or cannot be redriven.
    var verdicts: [String] {
        letters.map { candidate in
            switch candidate.verdict {
            case .redrivable: "\(candidate.letter.place)"
            case .obsolete(let why, let by): "\(candidate.letter.place) \(why.rawValue)\(by.map { " \($0)" } ?? "")"
            case .impossible(let reason): "\(candidate.letter.place) impossible: \(reason)"
            }
        }
    }
}
