import JSON

/// A pipeline file while it is checked: its valid parts, and all mistakes so far.
struct PipelineDraft {
    private struct Header: PluginSettings {
        let name: String
        let data: DataSettings
        let seed: String?
        let log: LogSettings
        let stages: [(name: String, settings: SettingsReader)]
        let api: SettingsReader?
        let hosts: [HostSettings]
        let lanes: Int

        init(from settings: inout SettingsReader) throws(SettingsError) {
            name = try settings.name("pipeline")
            data = try settings.data(default: ".belfry/\(name)")
            seed = try settings.optionalString("seed")
            log = try settings.mapping("log", as: LogSettings.self) ?? .standard
            stages = try settings.mappings("stages")
            api = try settings.mapping("api")
            lanes = try settings.integer("lanes", default: 1, in: 1...Lane.countMax)
            hosts = try Header.hosts(from: &settings)
            if seed?.isEmpty == true { throw settings.fail("seed", "is empty") }
            if stages.isEmpty {
                throw settings.fail("stages", settings.contains("stages") ? "is empty" : "required")
            }
            if log.home == nil, !hosts.isEmpty {
                throw settings.fail(
                    "hosts", "needs logs that survive a machine",
                    hint: "write 'home: \(LogSettings.jetStreamName)' and 'servers' below 'log:'")
            }
        }

        private static func hosts(from settings: inout SettingsReader) throws(SettingsError) -> [HostSettings] {
            var hosts: [HostSettings] = []
            for (name, reader) in try settings.mappings("hosts") {
                var reader = reader
                do throws(Complaint) { try SettingsReader.checkName(name) } catch { throw reader.failure(error) }
                hosts.append(try HostSettings(name, from: &reader))
                try reader.finish()
            }
            return hosts
        }
    }

    private struct Entry {
        let name: String
        let reader: SettingsReader
        let common: CommonSettings
    }

    private let settings: SettingsReader
    private var errors: [SettingsError]
    private let header: Header?
    private var entries: [Entry] = []

    init(_ reader: SettingsReader, errors: [SettingsError]) {
        settings = reader
        self.errors = errors
        var reader = reader
        header = reader.collect(into: &self.errors) { reader throws(SettingsError) in
            let header = try Header(from: &reader)
            try reader.finish()
            return header
        }
        for (name, settings) in header?.stages ?? [] { read(name, settings) }
    }

    private mutating func read(_ name: String, _ settings: SettingsReader) {
        var reader = settings
        let common = reader.collect(into: &errors) { reader throws(SettingsError) in
            try CommonSettings(from: &reader)
        }
        do throws(Complaint) {
            try SettingsReader.checkName(name)
        } catch {
            errors.append(settings.failure(error))
        }
        guard let common else { return }
        entries.append(Entry(name: name, reader: reader, common: common))
    }

    /// Checks the rules between stages, calls `check` for the stages, and returns the pipeline.
    ///
    /// - Throws: All mistakes that this draft and `check` have found.
    mutating func pipeline(
        _ registry: Registry, check: (PipelineStage) throws(PipelineFileError) -> Void
    ) throws(PipelineFileError) -> PipelineFile {
        checkUpstreams()
        checkSource()
        checkCycles()
        checkKeys()
        checkGateway()
        let stages = entries.compactMap { stage($0, registry) }
        checkLinks(stages, registry)
        checkUnique(stages, key: "log", of: \.logName, hint: "give one of them another name with \"log\"")
        let inLanes = inLanes(stages)
        checkUnique(inLanes, key: "bind", of: \.bind, hint: nil)
        checkHosts(inLanes)
        for stage in inLanes where stage.lane.map({ $0.number == 0 }) ?? true {
            do { try check(stage) } catch { errors += error.errors.filter { !errors.contains($0) } }
        }
        guard errors.isEmpty, let header, stages.contains(where: { $0.from == nil }) else {
            throw PipelineFileError(errors)
        }
        return PipelineFile(
            name: header.name, data: header.data.path, dataMode: header.data.mode, seed: header.seed, log: header.log,
            stages: inLanes, lanes: header.lanes, stagesInFile: stages, api: header.api, hosts: header.hosts,
            settings: settings)
    }

    private mutating func stage(_ entry: Entry, _ registry: Registry) -> PipelineStage? {
        let common = entry.common
        let kind = common.kind ?? entry.name
        let writes = registry.log(writtenBy: kind)
        do throws(Complaint) {
            let standard = "\(header?.data.path ?? ".")/\(entry.name).link"
            let bind = if let bind = common.bind { bind } else { try LinkAddress.ipc(standard) }
            return PipelineStage(
                name: entry.name, nameInFile: entry.name, kind: kind, from: common.from, bind: bind,
                writes: writes, logName: common.logName ?? writes?.rawValue ?? entry.name, command: common.command,
                directory: common.directory, curve: common.curve, isOpen: common.isOpen,
                settings: entry.reader, bindInFile: bind)
        } catch {
            errors.append(entry.reader.fail("bind", error.reason, hint: error.hint))
            return nil
        }
    }
}

// MARK: - Lanes

extension PipelineDraft {
    /// The stages with one copy for each lane of those behind the log of changes.
    private mutating func inLanes(_ stages: [PipelineStage]) -> [PipelineStage] {
        let count = header?.lanes ?? 1
        for stage in stages where stage.settings.contains(PipelineStage.laneKey) {
            errors.append(
                stage.settings.fail(
                    PipelineStage.laneKey, "is set by Belfry for each lane",
                    hint: "write 'lanes: COUNT' at the top of the file"))
        }
        guard count > 1 else { return stages }
        if !stages.contains(where: \.canBeginLane) {
            errors.append(
                settings.fail("lanes", "needs a stage that matches subscriptions: each lane begins with one"))
        }
        return stages.flatMap { stage -> [PipelineStage] in
            guard isInLane(stage, stages) else { return [stage] }
            return (0..<count).compactMap { number in
                do throws(SettingsError) { return try stage.inLane(Lane(number, of: count)) } catch {
                    if !errors.contains(error) { errors.append(error) }
                    return nil
                }
            }
        }
    }

    private func isInLane(_ stage: PipelineStage, _ stages: [PipelineStage]) -> Bool {
        var next: PipelineStage? = stage
        for _ in stages {
            guard let current = next else { return false }
            if current.canBeginLane { return true }
            next = stages.first { $0.name == current.from }
        }
        return false
    }
}

extension PipelineStage {
    /// The key of the setting that says to the first stage of a lane which changes it takes.
    package static let laneKey = "lane"

    /// Whether the stage is the first one of each lane, if the pipeline has lanes.
    package var canBeginLane: Bool { writes == .matches && command.isEmpty }

    /// The stage's copy for a lane.
    ///
    /// - Throws: ``SettingsError`` if there is no address for the lane.
    fileprivate func inLane(_ lane: Lane) throws(SettingsError) -> PipelineStage {
        var stage = self
        stage.lane = lane
        stage.name += lane.suffix
        stage.logName += lane.suffix
        if canBeginLane {
            stage.settings = settings.setting([PipelineStage.laneKey], to: lane.text)
        } else {
            stage.from = from.map { $0 + lane.suffix }
        }
        do throws(Complaint) { stage.bind = try LinkAddress.inLane(lane, bind) } catch {
            throw settings.fail("bind", error.reason, hint: error.hint)
        }
        stage.bindInFile = stage.bind
        return stage
    }
}

// MARK: - Rules between stages

extension PipelineDraft {
    private mutating func checkUpstreams() {
        // These are the names of all stages. `entries` leaves out stages whose common settings could not be read.
        let names = header?.stages.map(\.name) ?? []
        for entry in entries {
            guard let from = entry.common.from, !names.contains(from) else { continue }
            let hint = Spelling.suggestion(for: from, among: names.filter { $0 != entry.name })
            errors.append(entry.reader.fail("from", "there is no stage \(from)", hint: hint))
        }
    }

    /// A stage that is not a program must read the log that its kind handles. A program may read and write any events,
    /// so neither a program nor the stages that read from it are checked.
    private mutating func checkLinks(_ stages: [PipelineStage], _ registry: Registry) {
        for stage in stages where stage.command.isEmpty {
            guard let upstream = stages.first(where: { $0.name == stage.from }), upstream.command.isEmpty,
                let reads = registry.log(readBy: stage.kind), let writes = upstream.writes, reads != writes
            else { continue }
            let fix =
                stages.first { $0.writes == reads }.map { "put `from: \($0.name)`" }
                ?? registry.kind(writing: reads).map { "add a stage of kind \($0) before \(stage.name)" }
            errors.append(
                stage.settings.fail(
                    "from", "\(upstream.name) writes \(writes), but \(stage.name) reads \(reads)", hint: fix))
        }
    }

    private mutating func checkSource() {
        var sources: [Entry] = []
        for entry in entries where !entry.reader.contains("from") {
            if let error = entry.reader.mistyped("from") { errors.append(error) } else { sources.append(entry) }
        }
        guard let first = sources.first else { return }
        if !first.common.command.isEmpty {
            errors.append(
                first.reader.fail("from", "required: a program reads the log of a stage, so it cannot be the source"))
        }
        for entry in sources.dropFirst() {
            errors.append(
                entry.reader.fail(
                    "from", "required: only the source has no `from`, and \(first.name) is already the source"))
        }
    }

    private mutating func checkCycles() {
        let upstream = Dictionary(entries.map { ($0.name, $0.common.from) }) { first, _ in first }
        var reported: Set<String> = []
        for entry in entries where !reported.contains(entry.name) {
            guard let cycle = cycle(from: entry.name, upstream) else { continue }
            reported.formUnion(cycle)
            let way = (cycle + [entry.name]).joined(separator: " from ")
            errors.append(entry.reader.fail("from", "reads its own output: \(way)"))
        }
    }

    /// The cycle that `name` is in: `name`, then the stages upstream of it until `name` comes again. Nil if `name` is
    /// in no cycle.
    private func cycle(from name: String, _ upstream: [String: String?]) -> [String]? {
        var way = [name]
        while let next = upstream[way[way.count - 1]] ?? nil {
            if next == name { return way }
            guard !way.contains(next) else { return nil }
            way.append(next)
        }
        return nil
    }

    /// A stage with keys refuses clients without a key, so the stages that read from it need keys too.
    private mutating func checkKeys() {
        let keyed = Set(entries.filter { $0.common.curve != nil }.map(\.name))
        for entry in entries where entry.common.curve == nil {
            guard let from = entry.common.from, keyed.contains(from) else { continue }
            errors.append(
                entry.reader.fail(
                    "curve", "required: \(from) has keys, so a stage without a key cannot read from it",
                    hint: "make a key with `belfry curve make \(entry.name).key`, and write `curve: {publicKey: KEY, "
                        + "secretKey: {$file: \(entry.name).key}}`"))
        }
    }

    /// If the pipeline has a gateway, no stage may have the name ``PipelineFile/gatewayName``, because the gateway
    /// reads the source's log under this name.
    private mutating func checkGateway() {
        guard header?.api != nil, let entry = entries.first(where: { $0.name == PipelineFile.gatewayName }) else {
            return
        }
        errors.append(
            entry.reader.failure(
                Complaint("is also the name of the gateway", hint: "give the stage another name, or leave `api` out")))
    }

    private mutating func checkHosts(_ stages: [PipelineStage]) {
        guard let header, !header.hosts.isEmpty else { return }
        let names = header.stages.map(\.name) + (header.api == nil ? [] : [PipelineFile.gatewayName])
        var owners: [String: String] = [:]
        for host in header.hosts {
            if let owner = owners.updateValue(host.name, forKey: host.address) {
                errors.append(host.place.fail("address", "\(host.address) already belongs to \(owner)"))
            }
            for name in host.stages ?? [] where !names.contains(name) {
                let hint = Spelling.suggestion(for: name, among: names)
                errors.append(host.place.fail("stages", "there is no stage \(name)", hint: hint))
            }
            if let last = host.lanes?.upperBound, last >= header.lanes || header.lanes == 1 {
                let hint = header.lanes == 1 ? "write 'lanes: COUNT' at the top of the file" : nil
                let those = header.lanes == 1 ? "no lanes" : "the lanes 0-\(header.lanes - 1)"
                errors.append(
                    host.place.fail("lanes", "there is no lane \(last): the pipeline has \(those)", hint: hint))
            }
        }
        for stage in stages {
            if !header.hosts.contains(where: { $0.runs(stage) }) {
                errors.append(settings.fail("hosts", "no host runs stage \(stage.name)"))
            }
            checkReach(of: stage, header.hosts)
        }
    }

    /// The hosts reach each other's stages over TCP, so each address must have a port, which all hosts use.
    private mutating func checkReach(of stage: PipelineStage, _ hosts: [HostSettings]) {
        var settings = stage.settings
        var door: String?
        do throws(SettingsError) { door = stage.from == nil ? try settings.optionalAddress("door") : nil } catch {
            return
        }
        for (key, address) in [("bind", stage.bind), ("door", door)] where key == "bind" || stage.from == nil {
            guard let address, address.hasPrefix(HostSettings.tcp) else {
                errors.append(
                    stage.settings.fail(
                        key, "required: a TCP address with the port at which each host serves the stage",
                        hint: "write '\(key): tcp://0.0.0.0:PORT'"))
                continue
            }
            guard stage.curve == nil, !stage.isOpen,
                let host = hosts.first(where: { !LinkAddress.isLocal($0.endpoint(of: address)) })
            else { continue }
            errors.append(
                stage.settings.fail(
                    key, "other machines can reach \(host.endpoint(of: address)) of host \(host.name) without a key",
                    hint: "give the stage `curve:` keys; or say `open: true`, if the network lets only trusted "
                        + "programs in"))
        }
    }

    private mutating func checkUnique(
        _ stages: [PipelineStage], key: String, of value: (PipelineStage) -> String, hint: String?
    ) {
        var owners: [String: String] = [:]
        for stage in stages {
            if let owner = owners.updateValue(stage.name, forKey: value(stage)) {
                errors.append(stage.settings.fail(key, "\(value(stage)) already belongs to \(owner)", hint: hint))
            }
        }
    }
}

extension SettingsReader {
    /// An error at the name of this mapping.
    fileprivate func failure(_ complaint: Complaint) -> SettingsError {
        SettingsError(file: file, at: place, keyPath: keyPath, reason: complaint.reason, hint: complaint.hint)
    }
}
