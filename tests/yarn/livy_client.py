"""One batch by a client of PyPI, as a program of its own: livy_client.py CLIENT URL FILE CLASS IMAGE. It prints the id of the batch, waits for a line, and then prints
the state that the client has; on the line `kill` it kills the batch first.

CLIENT is `livy` (the PyPI package), or `airflow` (the hook of Airflow's provider)."""

import os
import sys
import time


def main() -> None:
    client, url, file, class_name, image = sys.argv[1:]
    conf = {"spark.tidemark.side": "kubernetes", "spark.kubernetes.container.image": image}
    if client == "livy":
        from livy import LivyBatch

        batch = LivyBatch.create(url, file=file, class_name=class_name, args=["1"], name="by livy", spark_conf=conf)
        number, kill = batch.batch_id, batch.kill
        state = lambda: batch.wait().value
    else:
        os.environ["AIRFLOW_CONN_LIVY_DEFAULT"] = url
        from airflow.providers.apache.livy.hooks.livy import LivyHook

        hook = LivyHook()
        number = hook.post_batch(file=file, class_name=class_name, args=["1"], name="by airflow", conf=conf)
        kill = lambda: hook.delete_batch(number)

        def state() -> str:
            while (found := hook.get_batch_state(number)) not in LivyHook.TERMINAL_STATES:
                time.sleep(0.2)
            hook.dump_batch_logs(number)
            return found.value

    print(f"batch {number}", flush=True)
    if sys.stdin.readline().strip() == "kill":
        kill()
    print(f"state {state()}", flush=True)


if __name__ == "__main__":
    main()
