import Glibc

/// A machine that may run stages: an entry of `hosts` in a pipeline file. Several machines need logs on NATS servers.
///
/// Each stage runs on one of its hosts at a time. The others stand by.
package struct HostSettings: Sendable {
    /// The host's name in the file, which `--host` gives to a program.
    package let name: String
    /// The IP address at which the other hosts reach this host's stages.
    package let address: String
    /// The stages that may run here, and ``PipelineFile/gatewayName`` for the gateway; nil for all of them.
    package let stages: [String]?
    /// The lanes whose stages may run here; nil for all of them.
    package let lanes: ClosedRange<Int>?
    /// The data folder on this host; nil for the pipeline's.
    package let data: String?
    /// For errors that name a place in the file.
    let place: SettingsReader

    init(_ name: String, from settings: inout SettingsReader) throws(SettingsError) {
        self.name = name
        place = settings
        settings.note("address", "IP address")
        address = try settings.required("address", placeholder: "127.0.0.1") { node throws(Complaint) in
            try HostSettings.address(try node.text(expecting: "an IP address"))
        }
        stages = try settings.optionalStrings("stages")
        lanes = try settings.lanes("lanes")
        data = try settings.optionalPath("data")
        if stages?.isEmpty == true { throw settings.fail("stages", "is empty", hint: "leave it out for all stages") }
    }

    private static func address(_ text: String) throws(Complaint) -> String {
        var (four, six) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, text, &four) == 1, four.s_addr != 0 { return text }
        if text != "::", inet_pton(AF_INET6, text, &six) == 1 { return text }
        throw Complaint("'\(text)' is not the IP address of a machine", hint: "write one such as 10.0.0.1")
    }

    /// Whether this host may run the stage.
    package func runs(_ stage: PipelineStage) -> Bool {
        guard stages?.contains(stage.nameInFile) ?? true else { return false }
        guard let lane = stage.lane, let lanes else { return true }
        return lanes.contains(lane.number)
    }

    /// Whether this host may run the gateway of a pipeline that has one.
    package var runsGateway: Bool { stages?.contains(PipelineFile.gatewayName) ?? true }

    /// The address of a socket on this host: the address in the file, with this host's IP address.
    ///
    /// - Parameter listens: Whether the result is for the socket that listens. Such a socket keeps an address that
    ///   stands for all addresses of a machine.
    package func endpoint(of bind: String, listens: Bool = false) -> String {
        guard let colon = bind.lastIndex(of: ":"), bind.hasPrefix(HostSettings.tcp) else { return bind }
        let isForAll = ["tcp://0.0.0.0", "tcp://[::]"].contains(bind[..<colon])
        if listens, isForAll { return bind }
        return HostSettings.tcp + (address.contains(":") ? "[\(address)]" : address) + bind[colon...]
    }

    static let tcp = "tcp://"
}

extension HostSettings {
    /// The keys whose values differ.
    fileprivate func differences(from other: HostSettings) -> [String] {
        let keys = [
            ("address", address == other.address), ("data", data == other.data), ("stages", stages == other.stages),
            ("lanes", lanes == other.lanes),
        ]
        return keys.filter { !$0.1 }.map(\.0)
    }
}

extension HostSettings: Equatable {
    /// Whether both have the same settings. The places in the files do not count.
    package static func == (one: HostSettings, other: HostSettings) -> Bool {
        one.name == other.name && one.differences(from: other).isEmpty
    }
}

extension SettingsReader {
    /// Some lanes: `3` or `0-7`.
    fileprivate mutating func lanes(_ key: String) throws(SettingsError) -> ClosedRange<Int>? {
        note(key, "lanes")
        return try optional(key) { node throws(Complaint) in
            let text = try node.text(expecting: "lanes, such as 0-7")
            let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard let first = ends[0], let last = ends[ends.count - 1], ends.count <= 2, 0...last ~= first else {
                throw Complaint(
                    "'\(text)' names no lanes", hint: "write a lane, such as 3, or the first and the last: 0-7")
            }
            return first...last
        }
    }
}

extension PipelineFile {
    /// The pipeline as one of its hosts runs it: with this host's data folder and addresses.
    ///
    /// - Parameters:
    ///   - name: The name of the host; nil if the program was given none.
    ///   - variable: The environment variable that gave the name; nil if `--host` did.
    /// - Throws: ``PipelineFileError`` if the pipeline has no such host; also without a name if it has hosts.
    package func on(_ name: String?, from variable: String? = nil) throws(PipelineFileError) -> PipelineFile {
        let names = hosts.map(\.name).joined(separator: ", ")
        guard let name else {
            guard !hosts.isEmpty else { return self }
            throw failure(
                "hosts", "the file names several hosts: \(names)",
                "say which one this is with --host NAME, or with the environment variable BELFRY_HOST")
        }
        guard let host = hosts.first(where: { $0.name == name }) else {
            let source = variable.map { ", which the environment variable \($0) names" } ?? ""
            let reason = hosts.isEmpty ? "the file has no hosts" : "there is no host \(name.printable)\(source)"
            throw failure("hosts", reason, hosts.isEmpty ? "leave --host out" : "its hosts: \(names)")
        }
        var file = self
        (file.host, file.data) = (host, host.data ?? data)
        file.stages = stages.map { $0.bound(on: host, listens: true) }
        return file
    }

    /// The pipeline with the addresses of a host, for a program that reaches this host's stages.
    package func addressed(to host: HostSettings) -> PipelineFile {
        var file = self
        file.host = host
        file.stages = stages.map { $0.bound(on: host, listens: false) }
        return file
    }

    private func failure(_ key: String, _ reason: String, _ hint: String) -> PipelineFileError {
        PipelineFileError([settings.fail(key, reason, hint: hint)])
    }

    /// The keys below `hosts` whose values differ, such as `a.address`; the name of a host that only one list has.
    package static func differences(of hosts: [HostSettings], from others: [HostSettings]) -> [String] {
        let names = Set((hosts + others).map(\.name)).sorted()
        return names.flatMap { name -> [String] in
            guard let host = hosts.first(where: { $0.name == name }),
                let other = others.first(where: { $0.name == name })
            else { return [name] }
            return host.differences(from: other).map { "\(name).\($0)" }
        }
    }

    /// The stages that this process's host may run, in the order of the links. All of them in a file without hosts.
    package var stagesOfHost: [PipelineStage] {
        guard let host else { return stagesInOrder }
        return stagesInOrder.filter { host.runs($0) }
    }

    /// The stages of this process's host whose input is here too: the sources, and the stages whose upstream the host
    /// may also run.
    package var stagesOfHostWithInput: [PipelineStage] {
        let own = stagesOfHost
        return own.filter { stage in stage.from.map { from in own.contains { $0.name == from } } ?? true }
    }

    /// The names of the hosts that may run all of these stages.
    package func hosts(running stages: [PipelineStage]) -> [String] {
        hosts.filter { stages.allSatisfy($0.runs) }.map(\.name)
    }

    /// Whether this process's host may run the gateway.
    package var runsGateway: Bool { api != nil && (host?.runsGateway ?? true) }
}

extension PipelineStage {
    /// The stage with the addresses of a host.
    fileprivate func bound(on host: HostSettings, listens: Bool) -> PipelineStage {
        var stage = self
        stage.bind = host.endpoint(of: bindInFile, listens: listens)
        return stage
    }
}
