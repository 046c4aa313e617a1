import BuiltIns
import Foundation
import PipelineKit
import TestSupport

/// A plugin in Python that formats the JSON of events differently, and drops some events.
enum ReformattingPlugin {
    /// A pipeline with the plugin before coalesce, where it drops all `not_matched` events, and before deliver, where
    /// it drops every fifth push.
    ///
    /// - Parameter folder: The folder to which the plugin's program is written.
    static func pipeline(in folder: Folder) throws -> PipelineFile {
        let program = try folder.write(program, to: "reformat.py")
        return try PipelineFile.parse(
            """
            pipeline: reformatted
            data: \(folder.path)
            stages:
              ingest: {}
              match: {from: ingest}
              first: {from: match, command: [\(Python.program), \(program), not_matched, "0"]}
              coalesce: {from: first, window: 1s, maximumDelay: 5s}
              payload: {from: coalesce}
              second: {from: payload, command: [\(Python.program), \(program), push, "5"]}
              deliver: {from: second, transports: {apns: {use: console}}}
            """, file: "reformatted.yaml", registry: .builtIns)
    }

    /// A pipeline with the stage `plugin`, which drops all events of a type.
    ///
    /// - Parameters:
    ///   - stage: The stage before which the plugin stands: match or coalesce.
    ///   - folder: The folder to which the plugin's program is written.
    static func pipeline(dropping type: String, before stage: String, in folder: Folder) throws -> PipelineFile {
        let program = try folder.write(program, to: "reformat.py")
        let upstreams = ["match": "ingest", "coalesce": "match"]
        func upstream(of reader: String) -> String { reader == stage ? "plugin" : upstreams[reader] ?? "" }
        return try PipelineFile.parse(
            """
            pipeline: dropping
            data: \(folder.path)
            stages:
              ingest: {}
              plugin: {from: \(upstreams[stage] ?? ""), command: [\(Python.program), \(program), \(type), "0"]}
              match: {from: \(upstream(of: "match"))}
              coalesce: {from: \(upstream(of: "coalesce")), window: 1s}
              payload: {from: coalesce}
              deliver: {from: payload, transports: {apns: {use: console}}}
            """, file: "dropping.yaml", registry: .builtIns)
    }

    /// Drops every n-th event of a type, or all events of the type if n is 0.
    private static let program = """
        import json, os, sys, zmq

        kind, every = sys.argv[1], int(sys.argv[2])
        link = zmq.Context.instance().socket(zmq.DEALER)
        link.setsockopt(zmq.LINGER, 1000)
        link.connect(os.environ["BELFRY_LINK"])
        link.send_json({"type": "open", "protocol": 1, "name": os.environ["BELFRY_STAGE"]})
        seen = 0

        def is_kept(event):
            global seen
            if event["type"] != kind:
                return True
            seen += 1
            return every > 0 and seen % every > 0

        while True:
            frames = link.recv_multipart()
            control = json.loads(frames[0])
            if control["type"] == "close":
                break
            if control["type"] != "batch":
                continue
            events = [json.loads(line) for line in frames[1].splitlines()]
            lines = [json.dumps(event) + "\\n" for event in events if is_kept(event)]
            through = control["first"] + control["count"] - 1
            answer = {"type": "outputs", "through": through, "count": len(lines)}
            link.send_multipart([json.dumps(answer).encode(), "".join(lines).encode()])
        """
}
