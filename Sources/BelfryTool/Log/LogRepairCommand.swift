import ArgumentParser
import EventLog
import Inspect
import JSON
import JetStreamHome
import PipelineKit
import PipelineRuntime
import Time

struct LogRepairCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "repair",
        abstract: "Cuts off a damaged log before the damage.",
        discussion: """
            Shows what would be lost, and changes nothing unless you give --yes. With --yes it first copies every file that \
            it changes into a folder `damaged-...` in the log's folder. It refuses a log that a stage has open. Exit status \
            0: the log is undamaged, or was repaired; 1: it needs a repair, and --yes is missing. Prints text on a terminal; \
            otherwise, or with --json, one JSON object.

            The repaired log ends before the damage. Later events are lost too, since sequences have no gaps. The \
            output names the logs of the stages that have already processed lost events.

            If the pipeline file keeps the logs on NATS servers, the command also compares the log with its stream. A \
            stream that lost events gets them again from the local files: --yes prepares that, and the next start of \
            the stage does it. A damaged stream is removed before, and the whole log is stored again. Local files that \
            are damaged are not cut off, because they can be filled again from the stream.

              belfry log repair changes -p Pipelines/quickstart.yaml
              belfry log repair out/changes --yes
            """)

    @Argument(help: "A log's folder, or its name in the place given with -p.", completion: .directory)
    var log: String

    @Option(name: .shortAndLong, help: "The place of LOG: a pipeline file or a folder.", completion: .file())
    var pipeline: String?

    @Flag(help: "Repair the log, or let the next start of its stage repair the log's stream.")
    var yes = false

    @Option(help: "The time in the name of the folder `damaged-...` (RFC 3339; default: now).")
    var now: Instant?

    @OptionGroup var output: JSONOption

    func run() throws {
        let directory = try LogPlace.folder(ofLog: log, pipeline: pipeline)
        let home = try pipeline.flatMap(LogRepairCommand.home)
        let (plan, copy) = try repairFiles(directory, onlyPlan: !yes || home != nil)
        if let home, plan.isSound { return try repair(home, plan, directory) }
        var lines = RepairText.lines(plan, copy)
        if home != nil {
            // The last line says what --yes would do.
            lines.removeLast()
            lines.append("nothing was changed; move \(directory) away, and the stage fills it again from its stream")
        }
        try output.print(lines, json: [RepairText.json(plan, copy)])
        if !plan.isSound, copy == nil { throw ToolFailure(.no) }
    }

    /// Repairs the local files.
    ///
    /// - Returns: What was to repair, and the folder with the old files; nil if nothing was changed.
    private func repairFiles(_ directory: String, onlyPlan: Bool) throws -> (RepairPlan, copy: String?) {
        var progress = ReadingProgress(total: try LogPlace.bytes(of: directory))
        let repair = try LogRepairCommand.repair(of: directory) { progress.add($0) }
        progress.end()
        return (repair.plan, onlyPlan ? nil : try repair.apply(at: now ?? .wall()))
    }

    /// Compares a sound log with its home, and repairs the home.
    private func repair(_ home: any LogHome, _ plan: RepairPlan, _ directory: String) throws {
        var progress = ReadingProgress(total: try LogPlace.bytes(of: directory))
        let repair = try HomeRepair(directory: directory, home: home) { progress.add($0) }
        progress.end()
        if yes { try repair.apply() }
        try output.print(
            HomeRepairText.lines(plan, repair.finding, isDone: yes),
            json: [RepairText.json(plan, nil, home: HomeRepairText.json(repair.finding, isDone: yes))])
        if repair.finding != .complete, !yes { throw ToolFailure(.no) }
    }

    /// The home of a pipeline's logs; nil for a folder, and for a pipeline with local files alone.
    private static func home(_ pipeline: String) throws -> (any LogHome)? {
        guard LogPlace.isFile(pipeline) else { return nil }
        let file = try LogPlace.pipeline(pipeline)
        return try file.log.home.map { settings in
            try JetStreamHome(settings, pipeline: file.name) { StandardError.write($0) }
        }
    }

    /// - Throws: ``ToolFailure`` for damage that a repair cannot remove; other errors of ``LogRepair``.
    private static func repair(of directory: String, _ progress: (UInt64) -> Void) throws -> LogRepair {
        do throws(EventLogError) { return try LogRepair(directory: directory, progress: progress) } catch {
            guard case .damaged(let file, _, _, let reason) = error else { throw error }
            let advice = reason.contains("from a copy") ? "" : "; restore the data folder from a backup"
            throw ToolFailure(
                .badData, "\(file): \(reason)\(advice); cutting the log off does not help; nothing was changed")
        }
    }
}

extension Instant: ExpressibleByArgument {
    public init?(argument: String) { self.init(rfc3339: argument) }
}

/// Describes what a repair does and what it loses, as lines for people or as JSON.
enum RepairText {
    static func lines(_ plan: RepairPlan, _ copy: String?) -> [String] {
        if plan.isSound { return ["\(plan.name): sound, nothing to repair"] }
        let problem = (plan.damage ?? plan.tornTail).map {
            "\(plan.name): \(plan.damage == nil ? "an incomplete last batch" : "damaged") at byte \($0.offset) of \($0.file), from sequence \($0.sequence) on: \($0.reason)"
        }
        let manifest = plan.manifestProblem.map {
            "\(plan.name): \($0); its contents can be restored from the files beside it or from the other logs"
        }
        let missing = plan.missingAtStart.map {
            "\(plan.name): sequences \($0.lowerBound) to \($0.upperBound) are missing, but retention did not remove them; "
                + "restore them from a copy if you have one, otherwise the log will begin after them"
        }
        return [problem, manifest, missing, lostEnd(plan)].compactMap(\.self) + loss(plan, isDone: copy != nil) + [
            verdict(plan, copy)
        ]
    }

    /// The message for a log whose end is missing without damage. Only the files beside the log show that it was
    /// longer.
    private static func lostEnd(_ plan: RepairPlan) -> String? {
        guard plan.cuts.isEmpty, let known = plan.knownThrough else { return nil }
        let files = plan.derivedFiles.joined(separator: ", ")
        return
            "\(plan.name): sequences \(plan.keptThrough + 1) to \(known) are lost, according to \(files); restore them from a "
            + "copy if you have one, otherwise the log continues without them, and a repair removes \(files)"
    }

    private static func loss(_ plan: RepairPlan, isDone: Bool) -> [String] {
        guard !plan.cuts.isEmpty else { return [] }
        let range = plan.lostThrough.map { "sequences \(plan.keptThrough + 1) to \($0)" } ?? "no known event"
        let start = isDone ? "lost" : "would be lost"
        let files = plan.cuts.map { cut in
            "  \(cut.file): \(cut.bytesKept.map { "from byte \($0) on" } ?? "whole"), \(byteText(cut.bytesLost))"
        }
        let derived = plan.derivedFiles.map {
            "  \($0): \(isDone ? "removed" : "would be removed"), because it may include lost events"
        }
        let consumers = plan.consumersBeyond.map {
            "\($0.name) has processed lost events, up to sequence \($0.lastProcessed): check log \($0.name); then "
                + "rebuild that log, or restore both logs from a copy"
        }
        let settings = plan.settingsLost > 0 ? ["  \(plan.settingsLost.of("change")) of the stage's settings"] : []
        return [
            "\(start): \(range) (\(plan.eventsLost.of("readable event")), \(byteText(plan.bytesLost)))"
        ]
            + files + settings + derived + consumers
    }

    private static func verdict(_ plan: RepairPlan, _ copy: String?) -> String {
        guard let copy else {
            return "nothing was changed; --yes repairs the log, and copies every file that it changes"
        }
        return "\(plan.name) now ends with sequence \(plan.keptThrough); the old files are in \(copy)"
    }

    /// - Parameter home: What is known of the log's home, as JSON; nil for a log without a home.
    static func json(_ plan: RepairPlan, _ copy: String?, home: String? = nil) -> String {
        ByteBuffer.object {
            $0.append("name", plan.name)
            $0.append("sound", plan.isSound)
            $0.append("repaired", copy != nil)
            $0.append("keptThrough", plan.keptThrough)
            $0.append("lostThrough", plan.lostThrough)
            $0.append("knownThrough", plan.knownThrough)
            $0.append("eventsLost", plan.eventsLost)
            $0.append("bytesLost", plan.bytesLost)
            $0.append("damage", raw: plan.damage.map(VerifyText.json))
            $0.append("tornTail", raw: plan.tornTail.map(VerifyText.json))
            $0.append("manifest", plan.manifestProblem)
            if plan.settingsLost > 0 { $0.append("settingsLost", UInt64(plan.settingsLost)) }
            $0.append("missingThrough", plan.missingAtStart?.upperBound)
            $0.append("files", plan.cuts.map(\.file) + plan.derivedFiles)
            $0.append("consumersBeyond", plan.consumersBeyond.map(\.name))
            $0.append("copy", copy)
            $0.append("home", raw: home)
        }.text
    }
}

/// Describes what is wrong with the stream of a log, as lines for people or as JSON.
enum HomeRepairText {
    static func lines(_ plan: RepairPlan, _ finding: HomeRepair.Finding, isDone: Bool) -> [String] {
        let (name, end) = (plan.name, plan.keptThrough)
        let problem =
            switch finding {
            case .complete: "\(name): sound, and its stream has all that it had acknowledged; nothing to repair"
            case .missing: "\(name): its stream is missing"
            case .lostEnd(let last):
                "\(name): its stream ends with sequence \(last), although its servers had acknowledged more; the local "
                    + "files go on through \(end)"
            case .damaged(let reason): "\(name): its stream is damaged: \(reason)"
            }
        guard finding != .complete else { return [problem] }
        return [problem, isDone ? done(finding) : offer(finding, name)]
    }

    private static func offer(_ finding: HomeRepair.Finding, _ name: String) -> String {
        let start = "nothing was changed; with --yes, the next start of the stage "
        let work =
            switch finding {
            case .lostEnd: "stores the lost events again"
            case .damaged: "stores the whole log in a new stream, after this command has removed the damaged one"
            case .complete, .missing: "stores the whole log in a new stream"
            }
        return start + work + ": do this only on the machine that wrote \(name) last"
    }

    private static func done(_ finding: HomeRepair.Finding) -> String {
        switch finding {
        case .lostEnd: "start the stage: it stores the lost events again"
        case .damaged: "the damaged stream was removed; start the stage: it stores the whole log in a new one"
        case .complete, .missing: "start the stage: it stores the whole log in a new stream"
        }
    }

    static func json(_ finding: HomeRepair.Finding, isDone: Bool) -> String {
        ByteBuffer.object {
            switch finding {
            case .complete: $0.append("finding", "complete")
            case .missing: $0.append("finding", "missing")
            case .lostEnd(let last):
                $0.append("finding", "lostEnd")
                $0.append("last", last)
            case .damaged(let reason):
                $0.append("finding", "damaged")
                $0.append("reason", reason)
            }
            $0.append("repaired", finding != .complete && isDone)
        }.text
    }
}
