import BuiltIns
import EventLog
import Foundation
import PipelineKit
import TestSupport
import Time

@testable import BelfryTool
@testable import Inspect

/// Logs to trace: made by a pipeline from a scenario, or written by hand.
final class TracedLogs {
    let folder: Folder
    var path: String { folder.path + "/logs" }

    private static let pipelines = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Pipelines").path(percentEncoded: false)

    init() throws {
        folder = try Folder()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// The logs that `belfry run Pipelines/PIPELINE.yaml` makes of a scenario.
    ///
    /// - Parameter owner: The name of the pipeline whose folder contains the scenario. Nil means `pipeline`.
    static func scenario(
        _ name: String, of owner: String? = nil, in pipeline: String = "quickstart"
    ) async throws -> TracedLogs {
        let logs = try TracedLogs()
        let file = try PipelineFile.load(path: pipelines + "/\(pipeline).yaml", registry: .builtIns)
        let input = pipelines + "/\(owner ?? pipeline).scenarios/\(name).ndjson"
        let run = PipelineRun(
            file, data: logs.folder.path, sources: [InputSource(path: input)], writer: PushWriter { _ in })
        _ = try await run.run()
        return logs
    }

    /// Appends events to a log, each in its own batch, one second apart.
    ///
    /// - Parameters:
    ///   - from: The upstream log; nil for batches without a cursor.
    ///   - cursors: The cursors of the first batches that this call writes. If `events` is longer than `cursors`, the
    ///     cursor of each further batch is the number of its event in `events`, counted from 1.
    @discardableResult
    func write(
        _ log: String, _ events: [String], from: String? = nil, cursors: [UInt64] = [],
        segmentBytesMax: Int = 128 << 20
    ) throws -> TracedLogs {
        let writer = try writer(log, segmentBytesMax: segmentBytesMax)
        for (number, event) in events.enumerated() {
            let position = number < cursors.count ? cursors[number] : UInt64(number + 1)
            let now = max(writer.lastNow, Instant(microseconds: 1_767_225_600_000_000)).advanced(by: .seconds(1))
            _ = try Array((event + "\n").utf8).withUnsafeBytes {
                try writer.append(
                    $0, count: 1, cursor: from.map { Cursor([$0: position]) } ?? Cursor(), now: now)
            }
        }
        try writer.close()
        return self
    }

    /// Removes the segments with only events before `sequence`, as retention does.
    func trim(_ log: String, before sequence: UInt64) throws {
        let writer = try writer(log)
        try writer.trim(before: sequence)
        try writer.close()
    }

    private func writer(_ log: String, segmentBytesMax: Int = 128 << 20) throws -> EventLogWriter {
        try EventLogWriter(
            EventLogOptions(
                directory: path, name: log, identity: LogIdentity(seed: "test", name: log),
                segmentBytesMax: segmentBytesMax, sync: .never))
    }

    func opened(usesIndexFiles: Bool = true, place: String? = nil) throws -> TraceLogs {
        try TraceLogs(place: place ?? path, usesIndexFiles: usesIndexFiles)
    }

    /// The tree that `belfry trace ID` prints.
    func tree(_ id: String, as kind: TraceIDKind? = nil, place: String? = nil) throws -> String {
        let logs = try opened(place: place)
        guard case .targets(let events, _) = try TraceSearch(logs: logs, limit: 10).find(id, as: kind) else {
            return "the ID has no single result"
        }
        return try TraceText(painter: Painter(isColoured: false))
            .lines(TraceGraph(of: events, Causality(logs))).joined(separator: "\n")
    }

    func graph(_ id: String) throws -> TraceGraph {
        let logs = try opened()
        guard case .targets(let events, _) = try TraceSearch(logs: logs, limit: 10).find(id) else {
            throw ToolFailure(.no, "the ID has no single result")
        }
        return try TraceGraph(of: events, Causality(logs))
    }

    func finding(_ id: String, as kind: TraceIDKind? = nil, limit: Int = 10) throws -> TraceFinding {
        try TraceSearch(logs: opened(), limit: limit).find(id, as: kind)
    }
}

/// Events with little more than the members that a trace reads.
enum TestEvents {
    static func change(_ name: String) -> String {
        #"{"type":"record.save","record":{"recordName":"\#(name)","recordType":"Note"},"change":"create"}"#
    }

    static func match(_ change: Int, _ user: String, _ subscription: String) -> String {
        #"{"type":"match","change":\#(change),"notificationID":"id-\#(change)",\#(userAndSubscription(user, subscription)),"recordName":"r\#(change)"}"#
    }

    static func notification(_ changes: [Int], _ user: String, _ subscription: String) -> String {
        #"{"type":"notification","causes":[\#(causes(changes))],"change":\#(changes.last ?? 0),"notificationID":"id-\#(changes.last ?? 0)",\#(userAndSubscription(user, subscription))}"#
    }

    static func coalesced(
        match: Int, change: Int, by other: Int, change otherChange: Int, _ user: String, _ sub: String
    ) -> String {
        #"{"type":"coalesced","match":\#(match),"change":\#(change),"replacedBy":\#(other),"replacedByChange":\#(otherChange),\#(userAndSubscription(user, sub))}"#
    }

    static func push(_ changes: [Int], _ user: String, _ subscription: String) -> String {
        #"{"type":"push","notificationID":"id-\#(changes.last ?? 0)",\#(userAndSubscription(user, subscription)),"payload":{"aps":{}},"causes":[\#(causes(changes))]}"#
    }

    static func outcome(_ push: Int, _ changes: [Int], _ user: String, _ device: String) -> String {
        #"{"type":"outcome","push":\#(push),"notificationID":"id-\#(changes.last ?? 0)","user":"\#(user)","device":"\#(device)","apns-id":"\#(push)-\#(device)","outcome":"accepted","causes":[\#(causes(changes))]}"#
    }

    static func deadLetter(_ stage: String, _ log: String, _ sequence: Int) -> String {
        #"{"type":"dead_letter","stage":"\#(stage)","log":"\#(log)","sequence":\#(sequence),"code":"field.type","path":"user","reason":"must be a text","event":"{}"}"#
    }

    private static func userAndSubscription(_ user: String, _ subscription: String) -> String {
        #""user":"\#(user)","subscriptionID":"\#(subscription)""#
    }

    private static func causes(_ changes: [Int]) -> String {
        changes.map { #"{"log":"changes","sequence":\#($0)}"# }.joined(separator: ",")
    }
}
